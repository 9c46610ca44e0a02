// Programs compiled with -gsplit-dwarf when some of their .dwo files are missing.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "support.h"
#include "symbolizer/address_lookup.h"

namespace sampan::symbolizer::test {
namespace {

class MissingSplits : public testing::Test {
 protected:
  MissingSplits() {
    run("cd " + directory_.path() +
        " && printf 'static inline __attribute__((always_inline)) int inner(int x) "
        "{ return x * x; }\\nint one(int x) { return inner(x) + 1; }\\n' > one.c"
        " && printf 'int two(int x) { return x + 2; }\\n' > two.c"
        " && export CCACHE_DISABLE=1"  // it would name the directory of another run
        " && for unit in one two; do gcc -g -O1 -fPIC -gsplit-dwarf -c $unit.c; done"
        " && gcc -shared -Wl,--build-id one.o two.o -o program.so");
    for (const char* function : {"one", "two"}) {
      const std::string address = run("nm " + program_ + " | grep ' T " + function + "$'");
      svmas_.push_back(std::strtoull(address.c_str(), nullptr, 16));
    }
    options_.cache_directory = directory_ / "cache";
  }
  void remove(const std::string& name) { std::filesystem::remove(directory_ / name); }
  // The functions at the begin of one(), innermost first. Sets problems_.
  std::string functions_of_one() {
    profile::Profile profile = profile_of(program_, svmas_, build_id_of(program_));
    problems_ = symbolize(profile, options_).problems;
    std::string functions;
    for (const Line& line : lines_of(profile, 0)) functions += line.function + " ";
    return functions;
  }

  TemporaryDirectory directory_;
  std::string program_ = directory_ / "program.so";
  std::vector<uint64_t> svmas_;
  Options options_;
  std::vector<std::string> problems_;
};

TEST_F(MissingSplits, NoneWhenAllFilesAreThere) {
  EXPECT_EQ(functions_of_one(), "inner one ");
  EXPECT_EQ(problems_, std::vector<std::string>());
}

TEST_F(MissingSplits, AreCountedAndNamedWithAdvice) {
  remove("one.dwo");
  EXPECT_EQ(functions_of_one(), "one ");
  ASSERT_EQ(problems_.size(), 1u);
  EXPECT_TRUE(problems_[0].starts_with(program_ + ": 1 .dwo file is missing (" +
                                       (directory_ / "one.dwo") + "): "))
      << problems_[0];
  EXPECT_NE(problems_[0].find("program.so.dwp"), std::string::npos) << problems_[0];
  remove("two.dwo");
  functions_of_one();
  ASSERT_EQ(problems_.size(), 1u);
  EXPECT_TRUE(problems_[0].starts_with(program_ + ": 2 .dwo files are missing (such as " +
                                       (directory_ / "one.dwo") + "): "))
      << problems_[0];
}

// A cached answer would hide missing files, and the names in files that arrive later.
TEST_F(MissingSplits, AreNotHiddenByTheCache) {
  std::filesystem::rename(directory_ / "one.dwo", directory_ / "away");
  functions_of_one();
  EXPECT_EQ(functions_of_one(), "one ");
  EXPECT_EQ(problems_.size(), 1u);
  std::filesystem::rename(directory_ / "away", directory_ / "one.dwo");
  EXPECT_EQ(functions_of_one(), "inner one ");
  EXPECT_EQ(problems_, std::vector<std::string>());
}

TEST_F(MissingSplits, AreReportedByAddressLookup) {
  remove("one.dwo");
  for (int time = 0; time < 2; ++time) {
    AddressLookup lookup(program_, options_);
    lookup.find(svmas_, [](uint64_t, std::span<const AnswerLine>) {});
    EXPECT_TRUE(lookup.problem().starts_with("1 .dwo file is missing")) << lookup.problem();
  }
}

}  // namespace
}  // namespace sampan::symbolizer::test
