#include "sampler/recorder/governor.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/units.h"

namespace sampan::sampler {
namespace {

constexpr uint64_t kFirstWindow = kNsPerSecond / 4;
constexpr uint64_t kShortWindow = kNsPerSecond;
constexpr uint64_t kLongWindow = 4 * kNsPerSecond;
// A target that hardly runs is judged when it has used so much CPU, or after so much time.
constexpr uint64_t kLeastCpu = kNsPerSecond / 20;
constexpr uint64_t kLongestWindow = 10 * kNsPerSecond;
// Shares of the limit: what a new rate aims at, and below which the rate may rise.
constexpr double kAim = 0.8, kRoom = 0.7;
// Share of the limit that is too much, however short the window.
constexpr double kFarMore = 2;
constexpr double kLargestStep = 4;
// The share of the whole cost that can be measured. It was 0.4 for clang, whose caches are full,
// and all of it for a program with little memory.
constexpr double kSeen = 0.5;
// A smaller step up is not worth a change.
constexpr double kSmallestRaise = 1.15;
// How near the rate comes to one that was too high.
constexpr double kBelowCeiling = 0.75;
constexpr uint64_t kShortestCeiling = 20 * kNsPerSecond, kLongestCeiling = 600 * kNsPerSecond;

uint64_t difference(uint64_t now, uint64_t before) {
  return now - std::min(now, before);
}

// Two digits are enough for a rate that people read.
uint32_t rounded(double rate_hz) {
  double unit = 1;
  while (rate_hz / unit >= 100) unit *= 10;
  return static_cast<uint32_t>(std::floor(rate_hz / unit) * unit);
}

}  // namespace

Usage operator-(const Usage& now, const Usage& before) {
  return {now.time_ns.earlier(before.time_ns), difference(now.target_ns, before.target_ns),
          difference(now.in_target_ns, before.in_target_ns),
          difference(now.recorder_ns, before.recorder_ns)};
}

Governor::Governor(CostLimit limit, uint32_t asked_hz)
    : limit_(limit),
      asked_hz_(asked_hz),
      rate_hz_(limit.whole ? std::min(asked_hz, kFirstHz) : asked_hz),
      window_ns_(kFirstWindow),
      ceiling_ns_(kShortestCeiling) {}

uint32_t Governor::floor_hz() const {
  return std::min(kFloorHz, asked_hz_);
}

double Governor::share_of(const Usage& used) const {
  if (used.own_ns() == 0) return std::numeric_limits<double>::infinity();
  const double cost = limit_.whole ? static_cast<double>(used.cost_ns()) / kSeen
                                   : static_cast<double>(used.in_target_ns);
  return cost / static_cast<double>(used.own_ns());
}

void Governor::ask(uint32_t asked_hz) {
  asked_hz_ = asked_hz;
  rate_hz_ = limit_.whole ? std::clamp(rate_hz_, floor_hz(), asked_hz_) : asked_hz_;
}

bool Governor::observe(const Usage& so_far) {
  if (!begun_) {
    begun_ = true;
    begin_ = so_far;
    return false;
  }
  const Usage used = so_far - begin_;
  // With the samples: where they take nearly all of it, the target hardly gets on.
  const bool judged = used.time_ns >= kLongestWindow || used.target_ns >= kLeastCpu;
  if (!judged) return false;
  share_ = share_of(used);
  const bool is_short = used.time_ns < std::min(window_ns_, kShortWindow);
  if (share_ > (is_short ? kFarMore : 1) * limit_.share) return lower(so_far);
  if (is_short) return false;
  floor_costs_more_ = false;
  if (used.time_ns < window_ns_) return false;
  return raise(so_far);
}

bool Governor::lower(const Usage& so_far) {
  if (raised_) {
    ceiling_hz_ = rate_hz_;
    ceiling_end_ns_ = so_far.time_ns + ceiling_ns_;
    ceiling_ns_ = std::min(2 * ceiling_ns_, kLongestCeiling);
    raised_ = false;
  }
  floor_costs_more_ = rate_hz_ <= floor_hz();
  const double step = std::max(kAim * limit_.share / share_, 1 / kLargestStep);
  return set(rate_hz_ * step, so_far);
}

bool Governor::raise(const Usage& so_far) {
  double highest = asked_hz_;
  if (ceiling_hz_ != 0 && so_far.time_ns < ceiling_end_ns_) {
    highest = std::min(highest, kBelowCeiling * ceiling_hz_);
  }
  const double step =
      share_ > 0 ? std::min(kAim * limit_.share / share_, kLargestStep) : kLargestStep;
  const double wanted = std::min(rate_hz_ * step, highest);
  const bool worth_it =
      wanted >= kSmallestRaise * rate_hz_ || (wanted == asked_hz_ && wanted > rate_hz_);
  if (share_ >= kRoom * limit_.share || !worth_it) {
    window_ns_ = std::min(2 * window_ns_, kLongWindow);
    begin_ = so_far;
    return false;
  }
  raised_ = true;
  return set(wanted, so_far);
}

bool Governor::set(double rate_hz, const Usage& so_far) {
  begin_ = so_far;
  const uint32_t before = rate_hz_;
  rate_hz_ = rate_hz >= asked_hz_ ? asked_hz_ : std::max(rounded(rate_hz), floor_hz());
  // After a rate was lowered, it is raised only after a longer window: noise alone must not move
  // it.
  window_ns_ = rate_hz_ < before ? kLongWindow : kShortWindow;
  return rate_hz_ != before;
}

}  // namespace sampan::sampler
