// The rate of a recording under way: what a person asks for, what the governor makes of it, since
// when which one holds, and what sampling costs. Collector and attach::Session have one; they tell
// it what was used, and see to it that the clocks follow.
//
// Errors: throws Error when the recording cannot be written.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/units.h"
#include "recording/writer.h"
#include "sampler/governor.h"

namespace sampan::sampler {

struct RateOptions {
  uint32_t asked_hz = 250;
  std::optional<double> max_overhead = {};           // share of the target's CPU; absent: no limit
  std::function<void(const std::string&)> say = {};  // to the person, of changes that matter
};

// Throws Error unless it is one that may be asked for.
void check_rate(uint32_t rate_hz);

class RateControl {
 public:
  // `start_ns`: of the session, CLOCK_MONOTONIC.
  RateControl(recording::Writer& writer, uint64_t start_ns, RateOptions options);

  uint32_t rate_hz() const { return rate_hz_; }
  uint64_t period_ns() const { return kNsPerSecond / rate_hz_; }

  // Now. Where a governor holds the rate lower, rate_hz() is lower then.
  void ask(uint32_t rate_hz);

  // The clocks could not follow: the rate is what it was before, and the person is told why.
  void stay(uint32_t rate_hz, const std::string& why);

  // It is time for the next call of observe(), and what that needs should be read.
  bool is_due(uint64_t now_ns) const { return now_ns >= next_ns_; }
  // What the processes have used since the session's start, and samples in them. Returns whether
  // the rate has changed.
  bool observe(uint64_t target_ns, uint64_t in_target_ns);
  // What it has cost up to now goes into the recording.
  void write_cost();

  // "sampling at 250 Hz; it costs 0.9 % of the program's CPU so far: ..."
  std::string status() const;

 private:
  void follow(uint64_t time_ns);  // the governor, from then on
  void say_what_changed();

  recording::Writer& writer_;
  uint64_t start_ns_;
  RateOptions options_;
  std::optional<Governor> governor_;
  uint32_t rate_hz_;
  uint64_t recorder_start_ns_;  // CPU of this process when the session began
  Usage used_;
  uint64_t next_ns_ = 0, next_cost_ns_ = 0;
  uint32_t said_hz_;
  uint64_t say_again_ns_ = 0;
  bool said_floor_ = false;
};

}  // namespace sampan::sampler
