// The sums of a view, by thread and by process: sampled CPU, true CPU and waiting.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "profile/view.h"
#include "profile/weights.h"

namespace sampan::profile {

struct ThreadSummary {
  uint32_t thread = kNone;
  Weight sampled;   // on CPU
  Weight waiting;   // for other things than a CPU
  Weight runnable;  // waiting for a CPU
  uint64_t complete_stacks = 0;
  // True CPU; absent when it could not be read, or when the view has only a part of the time.
  std::optional<uint64_t> cpu_ns;

  uint64_t known_cpu_ns() const { return cpu_ns.value_or(sampled.ns); }
  uint64_t wall_ns() const { return known_cpu_ns() + waiting.ns + runnable.ns; }
  uint64_t samples() const { return sampled.samples + waiting.samples + runnable.samples; }
  // Hardly any of its time is CPU: it waits for work.
  bool only_waits() const;
  std::optional<double> complete_share() const;  // absent without samples
};

struct ProcessSummary {
  uint32_t process = kNone;
  Weight sampled;                  // on CPU
  uint64_t samples = 0;            // all
  std::optional<uint64_t> cpu_ns;  // true CPU of its threads in the view; absent as above
};

struct Summary {
  bool all_threads = true;  // the view has every thread of the profile
  bool all_time = true;     // the view has all samples of its threads in its state
  Weight sampled;           // on CPU
  Weight waiting;           // for other things than a CPU
  Weight runnable;          // waiting for a CPU
  uint64_t complete_stacks = 0;
  std::optional<uint64_t> cpu_ns;         // true CPU; absent when the view cuts time
  std::vector<ThreadSummary> threads;     // busiest first
  std::vector<ProcessSummary> processes;  // in order of appearance

  bool whole() const { return all_threads && all_time; }
  // The view's total, which its functions share.
  Weight total() const;
  // Samples per second of the threads' CPU; 0 without samples.
  double achieved_rate_hz() const;
  // Sampled CPU divided by true CPU, if that is known and not zero. Absent if the view has only
  // waiting samples.
  std::optional<double> coverage() const;
  std::optional<double> complete_share() const;
};

Summary summarize(const View& view);

// The view without the threads that only wait, because they would hide the others. `summary`: of the view.
View busy_part(const View& view, const Summary& summary);

}  // namespace sampan::profile
