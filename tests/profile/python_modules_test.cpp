#include "profile/python_modules.h"

#include <gtest/gtest.h>

#include "support/text_profile.h"

namespace sampan::profile {
namespace {

TEST(PythonModules, AreThePathBelowTheFoldersOfPackages) {
  EXPECT_EQ(python_module("/usr/lib/python3.11/json/encoder.py"), "json.encoder");
  EXPECT_EQ(python_module("/usr/lib/python3/dist-packages/numpy/linalg/linalg.py"),
            "numpy.linalg.linalg");
  EXPECT_EQ(python_module("/srv/venv/lib/python3.12/site-packages/flask/__init__.py"), "flask");
  EXPECT_EQ(python_module("/usr/lib/python311.zip/ast.py"), "ast");
  EXPECT_EQ(python_module("/usr/lib/pypy3.9/threading.py"), "threading");
  EXPECT_EQ(python_module("/opt/lib/python3.13t/threading.py"), "threading");
  EXPECT_EQ(python_module("<frozen importlib._bootstrap>"), "importlib._bootstrap");
}

TEST(PythonModules, AreTheFilesElsewhere) {
  for (const char* const file :
       {"/srv/app/thumbs.py", "thumbs.py", "<string>", "<stdin>", "", "/", "//", ".py",
        "/home/python/w.py", "/home/python3./w.py", "/usr/lib/python3.11/.py",
        "/usr/lib/python3.11/site-packages/", "/usr/lib/python3.11/script", "<frozen "}) {
    EXPECT_EQ(python_module(file), file);
  }
}

TEST(PythonModules, AreThoseOfPythonsFunctionsAlone) {
  const Profile profile = test::profile_of(
      "main;dumps@/usr/lib/python3.11/json/__init__.py:183@[python];deflate@deflate.c:5@libz 1\n");
  EXPECT_EQ(python_modules(profile), (std::vector<std::string>{"", "json", ""}));
}

}  // namespace
}  // namespace sampan::profile
