// How responses are interpreted, and the delay after them.
#include "remote/push/store.h"

#include <gtest/gtest.h>

#include "remote/push/sender.h"

namespace sampan::push {
namespace {

using Outcome = Delivery::Outcome;

TEST(Delivery, DependsOnTheStatus) {
  for (const auto& [status, outcome] : {std::pair{200, Outcome::kArrived},
                                        {202, Outcome::kArrived},
                                        {204, Outcome::kArrived},
                                        {301, Outcome::kRefused},
                                        {400, Outcome::kRefused},
                                        {401, Outcome::kRefused},
                                        {404, Outcome::kRefused},
                                        {408, Outcome::kLater},
                                        {413, Outcome::kRefused},
                                        {422, Outcome::kRefused},
                                        {429, Outcome::kLater},
                                        {500, Outcome::kLater},
                                        {503, Outcome::kLater},
                                        {0, Outcome::kLater}}) {
    EXPECT_EQ(delivery_of(Format::kIngest, status, "", 0).outcome, outcome) << status;
  }
  EXPECT_EQ(delivery_of(Format::kIngest, 503, "", 7).retry_after_s, 7u);
}

TEST(Delivery, QuotesTheServerInOneLine) {
  const std::string why = delivery_of(Format::kIngest, 400, "a\r\nb\x1b[2J\xff\n", 0).why;
  EXPECT_EQ(why, "status 400: a  b [2J\xef\xbf\xbd");
  EXPECT_LT(delivery_of(Format::kIngest, 400, std::string(100'000, 'x'), 0).why.size(), 300u);
}

TEST(Delivery, CanBeARefusalWithStatus200) {
  const std::string rejected("\x0a\x07\x08\x02\x12\x03why", 9);
  EXPECT_EQ(delivery_of(Format::kOtlp, 200, rejected, 0).outcome, Outcome::kRefused);
  EXPECT_EQ(delivery_of(Format::kOtlp, 200, rejected, 0).why, "2 profiles were rejected: why");
  EXPECT_EQ(delivery_of(Format::kIngest, 200, rejected, 0).outcome, Outcome::kArrived);
  const std::string warning("\x0a\x05\x12\x03why", 7);
  EXPECT_EQ(delivery_of(Format::kOtlp, 200, warning, 0).outcome, Outcome::kArrived);
  for (size_t size = 0; size < rejected.size(); ++size) {  // cut off, so not a valid message
    EXPECT_EQ(delivery_of(Format::kOtlp, 200, rejected.substr(0, size), 0).outcome,
              Outcome::kArrived);
  }
}

TEST(Backoff, DoublesUpToAMinuteAndIsRandomized) {
  Backoff backoff(1);
  for (int64_t most = 1000; most < 200'000; most *= 2) {
    const int64_t wait = backoff.failed(0).count();
    EXPECT_LE(wait, std::min<int64_t>(most, 60'000));
    EXPECT_GE(wait, std::min<int64_t>(most, 60'000) / 2);
  }
  backoff.succeeded();
  EXPECT_LE(backoff.failed(0).count(), 1000);
  Backoff other(2);
  EXPECT_NE(Backoff(1).failed(0), other.failed(0));
}

TEST(Backoff, RespectsRetryAfter) {
  Backoff backoff(1);
  EXPECT_EQ(backoff.failed(30).count(), 30'000);
  EXPECT_EQ(backoff.failed(UINT64_MAX).count(), 3'600'000);
  EXPECT_GE(Backoff(1).failed(0).count(), 500);
}

}  // namespace
}  // namespace sampan::push
