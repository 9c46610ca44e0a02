// What a view comes to: its sampled CPU beside the true CPU, and what it waited, by thread and
// process.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "profile/view.h"
#include "profile/weights.h"

namespace sampan::reports {

struct ThreadSummary {
  uint32_t thread = profile::kNone;
  profile::Weight sampled;   // on CPU
  profile::Weight waiting;   // but for a CPU
  profile::Weight runnable;  // waiting for a CPU
  uint64_t complete_stacks = 0;
  // True CPU; absent when nobody could read it, or when the view cuts the thread's time.
  std::optional<uint64_t> cpu_ns;

  uint64_t known_cpu_ns() const { return cpu_ns.value_or(sampled.ns); }
  uint64_t wall_ns() const { return known_cpu_ns() + waiting.ns + runnable.ns; }
  uint64_t samples() const { return sampled.samples + waiting.samples + runnable.samples; }
  // Hardly any of its time is CPU: it waits for work that does not come.
  bool only_waits() const;
  std::optional<double> complete_share() const;  // absent without samples
};

struct ProcessSummary {
  uint32_t process = profile::kNone;
  profile::Weight sampled;         // on CPU
  uint64_t samples = 0;            // in all
  std::optional<uint64_t> cpu_ns;  // true CPU of what the view has of it; absent as above
};

struct Summary {
  bool all_threads = true;   // the view has every thread of the profile
  bool all_time = true;      // the view has every sample of its threads, of its state
  profile::Weight sampled;   // on CPU
  profile::Weight waiting;   // but for a CPU
  profile::Weight runnable;  // waiting for a CPU
  uint64_t complete_stacks = 0;
  std::optional<uint64_t> cpu_ns;         // true CPU; absent when the view cuts time
  std::vector<ThreadSummary> threads;     // busiest first
  std::vector<ProcessSummary> processes;  // in order of appearance

  bool whole() const { return all_threads && all_time; }
  // Of the view: all that is divided among its functions.
  profile::Weight total() const;
  // Samples per second of sampled CPU; 0 without samples.
  double achieved_rate_hz() const;
  // Sampled CPU divided by true CPU, where that is known and not zero. Absent without a sample on
  // CPU: then the view is of waiting.
  std::optional<double> coverage() const;
  std::optional<double> complete_share() const;
};

Summary summarize(const profile::View& view);

}  // namespace sampan::reports
