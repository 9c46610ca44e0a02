#include "exporters/running_threads.h"

#include <algorithm>

namespace sampan::exporters {
namespace {

constexpr size_t kFewestSteps = 10;
constexpr size_t kMostSteps = 1000;
// A thread's CPU is known once in a sampling period; shorter steps would show the sampling.
constexpr uint64_t kShortestStep = 20'000'000;

}  // namespace

RunningThreads running_threads(const profile::View& view, size_t most_steps) {
  const profile::Profile& profile = *view.profile;
  RunningThreads result;
  result.by_process.resize(profile.processes.size());
  std::vector<bool> has_cpu(profile.processes.size());
  uint64_t begin_ns = UINT64_MAX, end_ns = 0;
  const auto for_each_on_cpu = [&](const auto& visit) {
    for (const uint32_t index : view.samples) {
      const profile::Sample& sample = profile.samples[index];
      if (sample.wait != profile::kNone) continue;
      visit(profile.threads[sample.thread].process,
            sample.time_ns - std::min(sample.time_ns, sample.weight_ns), sample.time_ns);
    }
  };
  for_each_on_cpu([&](uint32_t process, uint64_t from_ns, uint64_t to_ns) {
    has_cpu[process] = true;
    begin_ns = std::min(begin_ns, from_ns);
    end_ns = std::max(end_ns, to_ns);
  });
  if (begin_ns >= end_ns) return result;

  const auto processes = static_cast<size_t>(std::count(has_cpu.begin(), has_cpu.end(), true));
  const size_t steps = std::min(most_steps / processes, kMostSteps);
  if (steps < kFewestSteps) return result;
  result.begin_ns = begin_ns;
  result.step_ns = std::max((end_ns - begin_ns) / steps + 1, kShortestStep);
  const size_t count = (end_ns - begin_ns) / result.step_ns + 1;
  for (size_t i = 0; i < has_cpu.size(); ++i) {
    if (has_cpu[i]) result.by_process[i].resize(count);
  }
  for_each_on_cpu([&](uint32_t process, uint64_t from_ns, uint64_t to_ns) {
    while (from_ns < to_ns) {
      const size_t step = (from_ns - begin_ns) / result.step_ns;
      const uint64_t part_ns = std::min(to_ns, begin_ns + (step + 1) * result.step_ns) - from_ns;
      result.by_process[process][step] +=
          static_cast<double>(part_ns) / static_cast<double>(result.step_ns);
      from_ns += part_ns;
    }
  });
  return result;
}

}  // namespace sampan::exporters
