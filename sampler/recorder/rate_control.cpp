#include "sampler/recorder/rate_control.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "wire/control_block.h"

namespace sampan::sampler {
namespace {

constexpr uint64_t kInterval = kNsPerSecond, kGovernedInterval = kNsPerSecond / 4;
constexpr uint64_t kCostInterval = 10 * kNsPerSecond;
// The user is told of a change by this factor, and not more often than this.
constexpr double kMuch = 2;
constexpr uint64_t kSayInterval = 60 * kNsPerSecond;
// A program that uses less than 1/20 of a CPU is idle: compared with that, any cost is large.
constexpr uint64_t kIdle = 20;

std::string percent(uint64_t part, uint64_t whole) {
  const double share =
      whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
  return share < 10 ? fmt::format("{:.2g} %", share) : fmt::format("{:.0f} %", share);
}

}  // namespace

void check_rate(uint32_t rate_hz) {
  if (rate_hz >= 1 && rate_hz <= wire::kHighestRateHz) return;
  throw Error("a rate of {} Hz: it may be 1 to {}", rate_hz, wire::kHighestRateHz);
}

RateControl::RateControl(recording::Writer& writer, SessionClock clock, RateOptions options)
    : writer_(writer),
      clock_(clock),
      options_(std::move(options)),
      rate_hz_(std::max(options_.asked_hz, 1u)),
      recorder_start_ns_(read_clock_ns(CLOCK_PROCESS_CPUTIME_ID)),
      said_hz_(rate_hz_) {
  writer_.add(recording::Cost{});
  if (!options_.limit) return;
  governor_.emplace(*options_.limit, rate_hz_);
  if (governor_->rate_hz() != rate_hz_) follow(clock_.start_ns);
}

void RateControl::follow(MonotonicNs time_ns) {
  if (governor_) rate_hz_ = governor_->rate_hz();
  writer_.add(recording::RateChange{clock_.at(time_ns), rate_hz_,
                                    governor_ && rate_hz_ < options_.asked_hz});
}

void RateControl::ask(uint32_t rate_hz) {
  check_rate(rate_hz);
  options_.asked_hz = rate_hz;
  if (governor_) {
    governor_->ask(rate_hz);
  } else {
    rate_hz_ = rate_hz;
  }
  follow(monotonic_ns());
  said_hz_ = rate_hz_;
}

void RateControl::stay(uint32_t rate_hz, const std::string& why) {
  if (governor_ && governor_->limit().whole) {
    governor_->stay(rate_hz);  // what was asked for may be had later, below the limit
    follow(monotonic_ns());
  } else {
    ask(rate_hz);
  }
  if (options_.say && monotonic_ns() >= say_again_ns_) {
    say_again_ns_ = monotonic_ns() + kSayInterval;
    options_.say(why);
  }
}

bool RateControl::observe(uint64_t target_ns, uint64_t in_target_ns) {
  const MonotonicNs now_ns = monotonic_ns();
  next_ns_ = now_ns + (governor_ ? kGovernedInterval : kInterval);
  // The target's own figures may be anything.
  used_ = {now_ns, target_ns, std::min(in_target_ns, target_ns),
           read_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - recorder_start_ns_};
  if (now_ns >= next_cost_ns_) write_cost();
  if (!governor_) return false;
  const bool changed = governor_->observe(used_);
  if (changed) follow(now_ns);
  say_what_changed();
  return changed;
}

void RateControl::write_cost() {
  if (used_.time_ns == 0) return;  // nothing is known yet
  next_cost_ns_ = used_.time_ns + kCostInterval;
  writer_.add(recording::Cost{clock_.at(used_.time_ns), used_.target_ns, used_.in_target_ns,
                              used_.recorder_ns});
}

void RateControl::say_what_changed() {
  if (!options_.say) return;
  const std::string limit =
      fmt::format("{:.3g} % of the program's CPU", 100 * governor_->limit().share);
  if (governor_->floor_costs_more() != said_floor_) {
    said_floor_ = governor_->floor_costs_more();
    if (said_floor_) {
      options_.say(fmt::format("even {} Hz cost more than {}: {:.3g} %", rate_hz_, limit,
                               100 * governor_->latest_share()));
    }
  }
  // While the rate rises at the start, there is nothing to say.
  const bool settled = used_.time_ns >= clock_.start_ns + 5 * kNsPerSecond;
  const double ratio = static_cast<double>(rate_hz_) / said_hz_;
  const bool much = ratio >= kMuch || ratio <= 1 / kMuch ||
                    (rate_hz_ == options_.asked_hz && rate_hz_ != said_hz_);
  if (!settled || !much || used_.time_ns < say_again_ns_) return;
  said_hz_ = rate_hz_;
  say_again_ns_ = used_.time_ns + kSayInterval;
  options_.say(rate_hz_ == options_.asked_hz
                   ? fmt::format("sampling at the {} Hz that were asked for again", rate_hz_)
                   : fmt::format("sampling at {} Hz: the {} Hz that were asked for would cost more "
                                 "than {}; what samples weigh is corrected",
                                 rate_hz_, options_.asked_hz, limit));
}

std::string RateControl::status() const {
  std::string text = fmt::format("sampling at {} Hz", rate_hz_);
  if (rate_hz_ < options_.asked_hz) {
    text += fmt::format(" of the {} that were asked for, to cost no more than {:.3g} %",
                        options_.asked_hz, 100 * governor_->limit().share);
  }
  const uint64_t own_ns = used_.own_ns();
  const uint64_t passed_ns = used_.time_ns == 0 ? 0 : used_.time_ns - clock_.start_ns;
  if (own_ns <= passed_ns / kIdle) return text + "; the program has used hardly any CPU yet";
  return text + fmt::format("; it costs {} of the program's CPU so far: {} in it, {} of it sampan",
                            percent(used_.cost_ns(), own_ns), percent(used_.in_target_ns, own_ns),
                            percent(used_.recorder_ns, own_ns));
}

}  // namespace sampan::sampler
