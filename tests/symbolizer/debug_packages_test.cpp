// The packages with debug information, with a dpkg-query and an apt-cache that say what Debian's say.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "support.h"
#include "symbolizer/missing_names.h"

namespace sampan::symbolizer::test {
namespace {

class DebugPackages : public testing::Test {
 protected:
  DebugPackages() { setenv("PATH", (directory_.path() + ":" + path_).c_str(), 1); }
  ~DebugPackages() override { setenv("PATH", path_.c_str(), 1); }
  void write(const std::string& name, const std::string& text) {
    const std::string file = directory_ / name;
    std::ofstream(file) << "#!/bin/sh\n" << text;
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  }

  TemporaryDirectory directory_;
  const std::string path_ = std::getenv("PATH");
};

// libjvm.so is of openjdk-17-jre-headless; the symbols of all of openjdk-17 are in openjdk-17-dbg.
TEST_F(DebugPackages, AreTheirOwnThoseOfTheirSourceOrMadeByDebian) {
  write(
      "dpkg-query",
      "case $1 in\n"
      "--search) echo 'libc6:amd64: /lib/libc.so.6'; echo 'liblzma5:amd64: /usr/lib/liblzma.so.5'\n"
      "  echo 'openjdk-17-jre-headless:amd64: /usr/lib/jvm/libjvm.so';;\n"
      "--show) echo 'libc6 glibc'; echo 'liblzma5 xz-utils'\n"
      "  echo 'openjdk-17-jre-headless openjdk-17';;\n"
      "esac\n");
  write("apt-cache", "printf '%s\\n' libc6 libc6-dbg glibc-dbg openjdk-17-dbg openjdk-17-demo\n");
  const std::map<std::string, std::string> expected = {
      {"/lib/libc.so.6", "libc6-dbg"},
      {"/usr/lib/liblzma.so.5", "liblzma5-dbgsym"},
      {"/usr/lib/jvm/libjvm.so", "openjdk-17-dbg"}};
  EXPECT_EQ(debug_packages({"/lib/libc.so.6", "/usr/lib/liblzma.so.5", "/usr/lib/jvm/libjvm.so",
                            "/opt/own.so"}),
            expected);
}

}  // namespace
}  // namespace sampan::symbolizer::test
