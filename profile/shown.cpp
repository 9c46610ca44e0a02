#include "profile/shown.h"

#include <algorithm>
#include <map>

#include "profile/heap.h"
#include "profile/locks.h"
#include "wire/loss.h"

namespace sampan::profile {

void replace_samples(Profile* profile, Shown shown, const std::string& unit) {
  profile->shown = shown;
  profile->samples.clear();
  profile->stops.assign(wire::kStopReasonCount, 0);
  profile->session.unit = unit;
  profile->session.rate_hz = 0;
  profile->rates = {};
  for (Process& process : profile->processes) process.cpu_ns.reset();
  for (Thread& thread : profile->threads) {
    thread.cpu_ns.reset();
    thread.sampled_cpu_ns = thread.waiting_ns = thread.runnable_ns = 0;
    thread.samples = thread.waiting_samples = thread.complete_stacks = 0;
  }
}

void add_sample(Sample sample, wire::StopReason stop, Profile* profile) {
  sample.complete = stop == wire::StopReason::kRoot && sample.stack != kNone;
  profile->samples.push_back(sample);
  ++profile->stops[static_cast<size_t>(stop)];
  Thread& thread = profile->threads[sample.thread];
  (sample.wait == kNone ? thread.sampled_cpu_ns : thread.waiting_ns) += sample.weight_ns;
  ++thread.samples;
  thread.waiting_samples += sample.wait != kNone;
  thread.complete_stacks += sample.complete;
}

void show(Shown shown, Profile* profile) {
  if (shown == Shown::kHeap) show_heap(profile);
  if (shown == Shown::kLocks) show_locks(profile);
}

WatchedTime watched_time(const Profile& profile, Watched what) {
  struct Setting {
    SessionNs since_ns = 0;
    uint64_t setting = 0;
  };
  std::map<uint32_t, Setting> states;  // by process
  WatchedTime time;
  const auto pass = [&](const Setting& state, SessionNs until_ns) {
    if (state.setting != 0) time.on_ns += until_ns.since(state.since_ns);
  };
  for (const WatchChange& row : profile.watch_changes) {
    if (row.what != what) continue;
    Setting& state = states[row.process];
    pass(state, row.time_ns);
    state = {row.time_ns, row.setting};
    if (row.setting == 0) continue;
    time.least_setting =
        time.most_setting == 0 ? row.setting : std::min(time.least_setting, row.setting);
    time.most_setting = std::max(time.most_setting, row.setting);
  }
  for (const auto& [index, state] : states) {
    const Process& process = profile.processes[index];
    const SessionNs end_ns = process.end_ns.value_or(profile.duration_ns());
    pass(state, end_ns);
    time.lived_ns += end_ns.since(process.start_ns);
  }
  return time;
}

}  // namespace sampan::profile
