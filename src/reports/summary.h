// What a view comes to: its sampled CPU beside the true CPU, by thread and process.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "profile/view.h"
#include "profile/weights.h"

namespace sampan::reports {

struct ThreadSummary {
  uint32_t thread = profile::kNone;
  profile::Weight sampled;
  uint64_t complete_stacks = 0;
  // True CPU; absent when nobody could read it, or when the view cuts the thread's time.
  std::optional<uint64_t> cpu_ns;

  uint64_t known_cpu_ns() const { return cpu_ns.value_or(sampled.ns); }
  std::optional<double> complete_share() const;  // absent without samples
};

struct ProcessSummary {
  uint32_t process = profile::kNone;
  profile::Weight sampled;
  std::optional<uint64_t> cpu_ns;  // true CPU of what the view has of it; absent as above
};

struct Summary {
  bool all_threads = true;  // the view has every thread of the profile
  bool all_time = true;     // the view has every sample of its threads
  profile::Weight sampled;
  uint64_t complete_stacks = 0;
  std::optional<uint64_t> cpu_ns;         // true CPU; absent when the view cuts time
  std::vector<ThreadSummary> threads;     // busiest first
  std::vector<ProcessSummary> processes;  // in order of appearance

  bool whole() const { return all_threads && all_time; }
  // Samples per second of sampled CPU; 0 without samples.
  double achieved_rate_hz() const;
  // Sampled CPU divided by true CPU, where that is known and not zero.
  std::optional<double> coverage() const;
  std::optional<double> complete_share() const;
};

Summary summarize(const profile::View& view);

}  // namespace sampan::reports
