// Keeps the cost of sampling under a share of the target's CPU by choosing the rate. Pure
// arithmetic: it is told what was used, and says the rate.
//
// The cost is the CPU of the recording sampan and the CPU that samples take inside the target; both
// are nearly proportional to the rate. It is judged over windows of a second and more; the first
// begins with the first report, so the cost of starting is in none. The rate is lowered after a window
// that cost more than the limit, and raised after one that cost much less. A rate that was too high is
// not tried again for a while, longer each time.
//
// A limit that the user asks for is kept from the beginning on: the rate begins low, and as much as was
// measured is reserved for what cannot be measured from within, the caches that a sample leaves cold
// (bench/governor.py measures it). The ceiling that always holds is a guard against harm: only what
// samples take inside the target counts, and the rate begins as asked.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace sampan::sampler {

// CPU that was used up to a time; nanoseconds.
struct Usage {
  MonotonicNs time_ns = 0;
  uint64_t target_ns = 0;     // of the target's processes, with in_target_ns
  uint64_t in_target_ns = 0;  // of it, for samples
  uint64_t recorder_ns = 0;   // of this process

  uint64_t cost_ns() const { return in_target_ns + recorder_ns; }
  // What the target would have used alone.
  uint64_t own_ns() const { return target_ns > in_target_ns ? target_ns - in_target_ns : 0; }
};
Usage operator-(const Usage& now, const Usage& before);

// How much sampling may cost, as a share of the CPU that the target uses itself.
struct CostLimit {
  double share;       // 0.01: one percent
  bool whole = true;  // of all that sampling costs; else of what samples take inside the target
};
inline constexpr CostLimit kCostCeiling{0.1, false};

class Governor {
 public:
  static constexpr uint32_t kFloorHz = 10;   // never below, unless asked for less
  static constexpr uint32_t kFirstHz = 100;  // until the whole cost is known

  Governor(CostLimit limit, uint32_t asked_hz);

  uint32_t rate_hz() const { return rate_hz_; }
  // The user asks for another rate; the governor goes no higher. Where only the ceiling holds, it goes there
  // at once.
  void ask(uint32_t asked_hz);

  // The rate could not be changed; it is this one.
  void stay(uint32_t rate_hz) { rate_hz_ = rate_hz; }

  // Call it a few times a second. Returns whether the rate has changed.
  bool observe(const Usage& so_far);

  const CostLimit& limit() const { return limit_; }
  // Cost of the latest window by the target's own CPU, as the limit counts it. Infinite for a
  // target that used no CPU.
  double latest_share() const { return share_; }
  // The lowest rate costs more than the limit.
  bool floor_costs_more() const { return floor_costs_more_; }

 private:
  uint32_t floor_hz() const;
  double share_of(const Usage& used) const;
  bool lower(const Usage& so_far);
  bool raise(const Usage& so_far);
  bool set(double rate_hz, const Usage& so_far);

  const CostLimit limit_;
  uint32_t asked_hz_;
  uint32_t rate_hz_;
  bool begun_ = false;
  Usage begin_;         // of the present window
  uint64_t window_ns_;  // how long it is to be
  double share_ = 0;
  bool floor_costs_more_ = false;
  bool raised_ = false;          // since it was lowered last
  uint32_t ceiling_hz_ = 0;      // a rate that was too high; 0: none is known
  uint64_t ceiling_end_ns_ = 0;  // until then it is not tried again
  uint64_t ceiling_ns_;          // how long the next ceiling will hold
};

}  // namespace sampan::sampler
