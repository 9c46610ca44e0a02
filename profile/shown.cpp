#include "profile/shown.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "profile/heap.h"
#include "profile/locks.h"
#include "wire/loss.h"

namespace sampan::profile {

namespace {

void show_sampled(Profile* profile) {
  const Sampled& sampled = *profile->sampled;
  profile->session = sampled.session;
  profile->rates = sampled.rates;
  profile->processes = sampled.processes;
  profile->threads = sampled.threads;
  profile->samples = sampled.samples;
  profile->stops = sampled.stops;
  profile->shown = Shown::kSamples;
  profile->sampled = nullptr;
}

}  // namespace

void replace_samples(Profile* profile, Shown shown, const std::string& unit) {
  if (profile->shown == Shown::kSamples) {
    profile->sampled = std::make_shared<const Sampled>(
        Sampled{profile->session, profile->rates, profile->processes, profile->threads,
                std::move(profile->samples), profile->stops});
  }
  profile->session = profile->sampled->session;
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
  if (shown == profile->shown) return;
  if (shown == Shown::kHeap) show_heap(profile);
  if (shown == Shown::kLocks) show_locks(profile);
  if (shown == Shown::kSamples) show_sampled(profile);
}

View same_part(const Profile& profile, const View& view, HeapPart heap) {
  std::vector<bool> wanted(profile.threads.size());
  for (const uint32_t thread : view.threads) wanted[thread] = true;
  const auto is_meant = [&](uint32_t index, const Sample& sample) {
    if (!wanted[view.thread_of(sample.thread)] ||
        !view.meets(sample.thread, sample.time_ns, sample.time_ns)) {
      return false;
    }
    switch (profile.shown) {
      case Shown::kHeap: return is_in(profile, index, heap, view.to_ns);
      case Shown::kLocks: return true;
      case Shown::kSamples:
        return view.state == State::kAll ||
               (view.state == State::kWaiting) == (sample.wait != kNone);
    }
    return false;
  };
  View part = view.part({}, view.threads);
  part.profile = &profile;
  part.heap = heap;
  for (uint32_t i = 0; i < profile.samples.size(); ++i) {
    if (is_meant(i, profile.samples[i])) part.samples.push_back(i);
  }
  return part;
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
