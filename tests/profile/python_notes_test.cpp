#include "profile/python_notes.h"

#include <gtest/gtest.h>

#include "support/text_profile.h"
#include "wire/loss.h"

namespace sampan::profile {
namespace {

TEST(PythonNotes, NameTheInterpretersThatAreNotKnown) {
  EXPECT_EQ(unknown_python("/usr/lib/x86_64-linux-gnu/libpypy3.9-c.so"), "PyPy");
  EXPECT_EQ(unknown_python("/usr/bin/pypy3"), "PyPy");
  EXPECT_EQ(unknown_python("/opt/bin/python3.13t"), "free-threaded Python 3.13");
  EXPECT_EQ(unknown_python("/opt/lib/libpython3.14t.so.1.0"), "free-threaded Python 3.14");
  EXPECT_EQ(unknown_python("/usr/bin/python3.15"), "Python 3.15");
  EXPECT_EQ(unknown_python("/usr/lib/libpython2.7.so.1.0"), "Python 2.7");
  for (const char* const path :
       {"/usr/bin/python3.9", "/usr/lib/libpython3.14.so.1.0", "/usr/bin/python3", "/srv/python",
        "/srv/python3.", "/srv/pythonic", "/srv/python99999999999.1", "", "/usr/lib/libc.so.6",
        "/usr/lib/python3.8/lib-dynload/_ssl.cpython-38-x86_64-linux-gnu.so"}) {
    EXPECT_EQ(unknown_python(path), "") << path;
  }
}

TEST(PythonNotes, AreOneSentenceForEachInterpreter) {
  Profile profile =
      test::profile_of("main;f@@/usr/lib/libpypy3.9-c.so 1\nmain;g@@/usr/bin/pypy3 1\n");
  ASSERT_EQ(python_notes(profile).size(), 1u);
  EXPECT_EQ(python_notes(profile)[0],
            "sampan does not know PyPy: its stacks are native, without the functions of the Python "
            "program");
  profile.losses.assign(wire::kLossCount, 0);
  profile.losses[static_cast<size_t>(wire::Loss::kPythonUnknown)] = 1;
  EXPECT_EQ(python_notes(profile).size(), 1u) << "the same interpreter";
  profile.modules.clear();
  ASSERT_EQ(python_notes(profile).size(), 1u);
  EXPECT_NE(python_notes(profile)[0].find("this build of Python"), std::string::npos);
  EXPECT_TRUE(python_notes(test::profile_of("main;f@@/usr/bin/python3.11 1\n")).empty());
}

}  // namespace
}  // namespace sampan::profile
