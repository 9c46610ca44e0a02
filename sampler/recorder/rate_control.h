// The rate of a recording: the one that the user asks for, the one that the governor permits, the
// changes of it, and what sampling costs. Its RecordingSession tells it what was used, and makes
// the source follow.
//
// Errors: throws Error when the recording cannot be written.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/time.h"
#include "base/units.h"
#include "recording/writer.h"
#include "sampler/recorder/governor.h"

namespace sampan::sampler {

struct RateOptions {
  uint32_t asked_hz = 250;
  std::optional<CostLimit> limit = kCostCeiling;     // absent: none
  std::function<void(const std::string&)> say = {};  // tells the user of changes that matter
};

// Throws Error for a rate that cannot be asked for.
void check_rate(uint32_t rate_hz);

class RateControl {
 public:
  RateControl(recording::Writer& writer, SessionClock clock, RateOptions options);

  uint32_t rate_hz() const { return rate_hz_; }
  uint64_t period_ns() const { return kNsPerSecond / rate_hz_; }

  // The rate from now on, unless the governor keeps it lower.
  void ask(uint32_t rate_hz);

  // The source could not follow: the rate is what it was before, and the user is told why.
  void stay(uint32_t rate_hz, const std::string& why);

  // Whether observe() should be called.
  bool is_due(MonotonicNs now_ns) const { return now_ns >= next_ns_; }
  // CPU that the processes have used since the session's start, and the part of it that samples
  // took. Returns whether the rate has changed.
  bool observe(uint64_t target_ns, uint64_t in_target_ns);
  // Writes the cost up to now into the recording.
  void write_cost();

  // "sampling at 250 Hz; it costs 0.9 % of the program's CPU so far: ..."
  std::string status() const;

 private:
  void follow(MonotonicNs time_ns);  // takes and writes the governor's rate
  void say_what_changed();

  recording::Writer& writer_;
  SessionClock clock_;
  RateOptions options_;
  std::optional<Governor> governor_;
  uint32_t rate_hz_;
  uint64_t recorder_start_ns_;  // CPU of this process when the session began
  Usage used_;
  MonotonicNs next_ns_ = 0, next_cost_ns_ = 0;
  uint32_t said_hz_;
  MonotonicNs say_again_ns_ = 0;
  bool said_floor_ = false;
};

}  // namespace sampan::sampler
