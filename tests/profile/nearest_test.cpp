#include "base/nearest.h"

#include <gtest/gtest.h>

namespace sampan {
namespace {

const std::vector<std::string_view> kFormats = {"trace", "pprof", "pstats", "folded"};

TEST(Nearest, ForgivesSlipsOfTheFinger) {
  EXPECT_EQ(nearest("pprf", kFormats), "pprof");
  EXPECT_EQ(nearest("pstast", kFormats), "pstats");
  EXPECT_EQ(nearest("ptats", kFormats), "pstats");
  EXPECT_EQ(nearest("fo", kFormats), "folded");
}

TEST(Nearest, DoesNotGuessWildly) {
  EXPECT_EQ(nearest("callgrind", kFormats), "");
  EXPECT_EQ(nearest("", kFormats), "");
  const std::vector<std::string> options = {"--bind", "--idle", "--mode", "--port", "--push"};
  EXPECT_EQ(nearest("--pid", options), "") << "dashes are no letters";
  EXPECT_EQ(nearest("--prot", options), "--port");
  EXPECT_EQ(nearest("x", std::vector<std::string>()), "");
}

TEST(Nearest, CountsEdits) {
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("ab", "ba"), 1u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("same", "same"), 0u);
}

TEST(Nearest, MakesTheEndOfAMessage) {
  EXPECT_EQ(did_you_mean("pprf", kFormats), ", did you mean 'pprof'?");
  EXPECT_EQ(did_you_mean("callgrind", kFormats), "");
}

}  // namespace
}  // namespace sampan
