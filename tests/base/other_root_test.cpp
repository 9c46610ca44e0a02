#include "base/other_root.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace sampan {
namespace {

namespace fs = std::filesystem;

class OtherRoot : public testing::Test {
 protected:
  OtherRoot() {
    fs::remove_all(folder_);
    fs::create_directories(root_ / "usr/lib");
    std::ofstream(root_ / "usr/lib/inner") << "inner";
    std::ofstream(folder_ / "outer") << "outer";
    fs::create_symlink("usr/lib", root_ / "lib");
    fs::create_symlink("/usr/lib/inner", root_ / "absolute");
    fs::create_symlink("../../outer", root_ / "usr/climbing");
    fs::create_symlink(folder_ / "outer", root_ / "leaving");
  }
  ~OtherRoot() override { fs::remove_all(folder_); }

  std::string below(const std::string& path) const { return path_below(root_, path); }

  const fs::path folder_ =
      fs::canonical(testing::TempDir()) / ("other-root-" + std::to_string(getpid()));
  const fs::path root_ = folder_ / "root";
};

TEST_F(OtherRoot, LinksLeadWhereTheyLeadThere) {
  EXPECT_EQ(below("/usr/lib/inner"), root_ / "usr/lib/inner");
  EXPECT_EQ(below("/lib/inner"), root_ / "usr/lib/inner");
  EXPECT_EQ(below("/absolute"), root_ / "usr/lib/inner");
}

TEST_F(OtherRoot, NothingLeadsOut) {
  EXPECT_EQ(below("/leaving"), "");
  EXPECT_EQ(below("/usr/climbing"), "");
  EXPECT_EQ(below("/../outer"), "");
  EXPECT_EQ(below("/usr/lib/absent"), "");
  EXPECT_EQ(path_below(folder_ / "absent", "/usr"), "");
}

TEST_F(OtherRoot, OpensWhatCanBeRead) {
  const FileDescriptor root(open(root_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const FileDescriptor file = open_below(root.get(), "/absolute", O_RDONLY);
  char text[16] = {};
  ASSERT_EQ(read(file.get(), text, sizeof text), 5);
  EXPECT_STREQ(text, "inner");
  EXPECT_EQ(path_of(file.get()), root_ / "usr/lib/inner");
  EXPECT_FALSE(open_below(root.get(), "/leaving", O_RDONLY));
}

}  // namespace
}  // namespace sampan
