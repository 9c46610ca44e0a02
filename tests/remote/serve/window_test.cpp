#include "base/units.h"
#include "remote/serve/request.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "fake_source.h"

namespace sampan::serve {
namespace {

Window window(FakeSource& source, std::map<std::string, std::string, std::less<>> query,
              const DefaultWindow& usual = {}) {
  return window_of(
      {.method = "GET", .path = "/", .query = std::move(query), .headers = {}, .body = ""}, source,
      usual);
}

class Windows : public testing::Test {
 protected:
  Windows() { source_.now = 100 * kNsPerSecond; }
  FakeSource source_;
};

TEST_F(Windows, SecondsStartNow) {
  const Window asked = window(source_, {{"seconds", "2.5"}}, {.seconds = 30});
  EXPECT_EQ(asked.from_ns, 100 * kNsPerSecond);
  EXPECT_EQ(asked.to_ns, 102 * kNsPerSecond + kNsPerSecond / 2);
  EXPECT_EQ(asked.wait_ns, 2 * kNsPerSecond + kNsPerSecond / 2);
}

TEST_F(Windows, LastEndsNow) {
  const Window asked = window(source_, {{"last", "10"}}, {.seconds = 30});
  EXPECT_EQ(asked.from_ns, 90 * kNsPerSecond);
  EXPECT_EQ(asked.to_ns, 100 * kNsPerSecond);
  EXPECT_EQ(asked.wait_ns, 0u);
  EXPECT_EQ(window(source_, {{"last", "1000"}}).from_ns, 0u);
}

TEST_F(Windows, DefaultToAllOrTheEndpointsWindow) {
  EXPECT_EQ(window(source_, {}).to_ns, UINT64_MAX);
  EXPECT_EQ(window(source_, {}, {.seconds = 30}).wait_ns, 30 * kNsPerSecond);
  EXPECT_EQ(window(source_, {}, {.last = 60}).from_ns, 40 * kNsPerSecond);
}

TEST_F(Windows, CoverAllOfARecording) {
  source_.live = false;
  EXPECT_EQ(window(source_, {}, {.seconds = 30}).to_ns, UINT64_MAX);
  EXPECT_EQ(window(source_, {}, {.last = 60}).from_ns, 0u);
  EXPECT_EQ(window(source_, {{"last", "10"}}).from_ns, 90 * kNsPerSecond);
  EXPECT_THROW(window(source_, {{"seconds", "1"}}), Error);
}

TEST_F(Windows, RefuseInvalidParameters) {
  for (const char* const text :
       {"", "0", "-1", "x", "1x", " 1", "nan", "inf", "1e3", "3601", "0x10"}) {
    EXPECT_THROW(window(source_, {{"seconds", text}}), Error) << text;
  }
  EXPECT_THROW(window(source_, {{"seconds", "1"}, {"last", "1"}}), Error);
  EXPECT_THROW(window(source_, {{"last", "soon"}}), Error);
}

TEST_F(Windows, HaveEqualKeysIfTheyAreEqual) {
  EXPECT_EQ(window(source_, {{"seconds", "5"}}).key, window(source_, {{"seconds", "5.0"}}).key);
  EXPECT_NE(window(source_, {{"seconds", "5"}}).key, window(source_, {{"last", "5"}}).key);
}

}  // namespace
}  // namespace sampan::serve
