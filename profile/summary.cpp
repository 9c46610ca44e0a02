#include "profile/summary.h"

#include <algorithm>
#include <utility>

namespace sampan::profile {
namespace {

std::vector<ThreadSummary> summarize_threads(const View& view) {
  const Profile& profile = *view.profile;
  std::vector<ThreadSummary> all(profile.threads.size());
  for (const uint32_t index : view.samples) {
    const Sample& sample = profile.samples[index];
    ThreadSummary& thread = all[sample.thread];
    Weight& weight = sample.wait == kNone               ? thread.sampled
                     : profile.is_runnable(sample.wait) ? thread.runnable
                                                        : thread.waiting;
    weight += {.ns = sample.weight_ns, .samples = 1};
    thread.complete_stacks += sample.complete;
  }
  std::vector<ThreadSummary> selected;
  for (const uint32_t index : view.threads) {
    selected.push_back(all[index]);
    selected.back().thread = index;
  }
  return selected;
}

// The kernel's account of a process includes threads that were too short to be sampled.
std::optional<uint64_t> process_cpu_ns(const Profile& profile, uint32_t process,
                                       const std::vector<ThreadSummary>& selected) {
  uint64_t threads_cpu_ns = 0;
  bool all_known = true;
  size_t selected_threads = 0;
  for (const ThreadSummary& thread : selected) {
    if (profile.threads[thread.thread].process != process) continue;
    threads_cpu_ns += thread.known_cpu_ns();
    all_known &= thread.cpu_ns.has_value();
    ++selected_threads;
  }
  const size_t threads = static_cast<size_t>(
      std::count_if(profile.threads.begin(), profile.threads.end(),
                    [&](const Thread& thread) { return thread.process == process; }));
  if (selected_threads == threads && profile.processes[process].cpu_ns) {
    return profile.processes[process].cpu_ns;
  }
  if (!all_known || selected_threads == 0) return std::nullopt;
  return threads_cpu_ns;
}

// The number of samples that the view has if it has the whole time.
uint64_t samples_of(const View& view, const Thread& thread) {
  switch (view.state) {
    case State::kCpu: return thread.samples - thread.waiting_samples;
    case State::kWaiting: return thread.waiting_samples;
    case State::kAll: break;
  }
  return thread.samples;
}

std::optional<double> share(uint64_t part, uint64_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

bool ThreadSummary::only_waits() const {
  constexpr double kHardlyAny = 0.001;
  return waiting.ns > 0 &&
         static_cast<double>(known_cpu_ns()) < kHardlyAny * static_cast<double>(wall_ns());
}

std::optional<double> ThreadSummary::complete_share() const {
  return share(complete_stacks, samples());
}

Weight Summary::total() const {
  Weight total = sampled;
  total += waiting;
  return total += runnable;
}

double Summary::achieved_rate_hz() const {
  // The CPU behind a thread's last sample counts, too: of a short thread it is about half.
  uint64_t threads_ns = 0;
  for (const ThreadSummary& thread : threads) {
    threads_ns += std::max(thread.known_cpu_ns(), thread.sampled.ns);
  }
  if (threads_ns == 0) return 0;
  return static_cast<double>(sampled.samples) * 1e9 / static_cast<double>(threads_ns);
}

std::optional<double> Summary::coverage() const {
  if (sampled.samples == 0 && waiting.samples + runnable.samples > 0) return std::nullopt;
  return share(sampled.ns, cpu_ns.value_or(0));
}

std::optional<double> Summary::complete_share() const {
  return share(complete_stacks, total().samples);
}

Summary summarize(const View& view) {
  const Profile& profile = *view.profile;
  Summary summary;
  summary.threads = summarize_threads(view);
  summary.all_threads = summary.threads.size() == profile.threads.size();
  for (const ThreadSummary& thread : summary.threads) {
    summary.sampled += thread.sampled;
    summary.waiting += thread.waiting;
    summary.runnable += thread.runnable;
    summary.complete_stacks += thread.complete_stacks;
    summary.all_time &= thread.samples() == samples_of(view, profile.threads[thread.thread]);
  }
  if (profile.shown == Shown::kHeap) {  // of which a view has one part
    summary.all_time = view.from_ns == 0 && view.to_ns == UINT64_MAX && !view.section;
  }
  if (summary.all_time) {
    for (ThreadSummary& thread : summary.threads) {
      thread.cpu_ns = profile.threads[thread.thread].cpu_ns;
    }
  }

  std::vector<ProcessSummary> processes(profile.processes.size());
  for (const ThreadSummary& thread : summary.threads) {
    const uint32_t process = profile.threads[thread.thread].process;
    processes[process].process = process;
    processes[process].sampled += thread.sampled;
    processes[process].samples += thread.samples();
  }
  if (summary.all_time) summary.cpu_ns = 0;
  for (uint32_t i = 0; i < processes.size(); ++i) {
    if (processes[i].process == kNone && !summary.whole()) continue;
    processes[i].process = i;
    if (summary.all_time) {
      processes[i].cpu_ns = process_cpu_ns(profile, i, summary.threads);
      *summary.cpu_ns += processes[i].cpu_ns.value_or(processes[i].sampled.ns);
    }
    summary.processes.push_back(processes[i]);
  }
  if (summary.whole() && summary.all_time && profile.end) {
    // The kernel's account of the command includes children that could not be sampled.
    summary.cpu_ns =
        std::max(*summary.cpu_ns, profile.end->user_cpu_ns + profile.end->system_cpu_ns);
  }

  // No account of the kernel.
  if (profile.session.is_imported() || profile.shown != Shown::kSamples)
    summary.cpu_ns = std::nullopt;

  std::stable_sort(summary.threads.begin(), summary.threads.end(),
                   [](const ThreadSummary& a, const ThreadSummary& b) {
                     return std::pair(a.known_cpu_ns(), a.wall_ns()) >
                            std::pair(b.known_cpu_ns(), b.wall_ns());
                   });
  return summary;
}

View busy_part(const View& view, const Summary& summary) {
  std::vector<bool> idle(view.profile->threads.size());
  for (const ThreadSummary& row : summary.threads) idle[row.thread] = row.only_waits();
  View busy = view;
  std::erase_if(busy.threads, [&](uint32_t thread) { return idle[thread]; });
  std::erase_if(busy.samples, [&](uint32_t sample) {
    return idle[view.thread_of(view.profile->samples[sample].thread)];
  });
  return busy;
}

}  // namespace sampan::profile
