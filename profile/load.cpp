#include "profile/profile.h"

#include "profile/recorded_names.h"

#include <algorithm>
#include <map>
#include <utility>

#include "profile/markers.h"

namespace sampan::profile {
namespace {

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

void load_processes(const recording::Recording& from, Profile* profile) {
  for (const recording::Process& row : from.processes) {
    Process& process = profile->processes.emplace_back();
    process.pid = row.pid;
    process.parent_pid = row.parent_pid;
    process.path = row.name;
    process.name = file_name(row.name);
    process.start_ns = row.start_ns;
  }
  for (const recording::ProcessEnd& row : from.process_ends) {
    Process& process = profile->processes[row.process];
    process.end_ns = row.time_ns;
    process.cpu_ns = row.cpu_ns;
    process.exit_status = row.exit_status;
    process.exit_signal = row.exit_signal;
    process.replaced = row.replaced;
    process.lives_on = row.lives_on;
  }
}

void load_origins(const recording::Recording& from, Profile* profile) {
  profile->origins = from.origins;
  size_t process = 0;
  for (uint32_t i = 0; i < from.origins.size(); ++i) {
    const size_t end = process + std::min<uint64_t>(from.origins[i].processes,
                                                    profile->processes.size() - process);
    for (; process < end; ++process) {
      Process& row = profile->processes[process];
      row.origin = i;
      row.name = from.origins[i].label + ": " + row.name;
    }
  }
}

void load_threads(const recording::Recording& from, Profile* profile) {
  for (const recording::Thread& row : from.threads) {
    Thread& thread = profile->threads.emplace_back();
    thread.process = row.process;
    thread.tid = row.tid;
    thread.name = row.name;
    thread.is_main = row.tid == profile->processes[row.process].pid;
    thread.start_ns = row.start_ns;
  }
  std::vector<uint64_t> named_ns(profile->threads.size());
  for (const recording::ThreadName& row : from.thread_names) {
    if (row.time_ns < named_ns[row.thread]) continue;
    named_ns[row.thread] = row.time_ns;
    profile->threads[row.thread].name = row.name;
  }
  for (const recording::ThreadEnd& row : from.thread_ends) {
    profile->threads[row.thread].end_ns = row.time_ns;
    profile->threads[row.thread].cpu_ns = row.cpu_ns;
  }
}

void load_samples(const recording::Recording& from, Profile* profile) {
  profile->stops.assign(wire::kStopReasonCount, 0);
  profile->samples.reserve(from.samples.size());
  for (const recording::Sample& row : from.samples) {
    // A thread that waits for a CPU was not looked at: its stack is its wait alone.
    const bool runnable = row.wait != kNone && from.waits[row.wait].call == kRunnable;
    const bool complete = row.stop == wire::StopReason::kRoot && (row.stack != kNone || runnable);
    profile->samples.push_back(
        {row.time_ns, row.weight_ns, row.thread, row.stack, row.wait, complete});
    ++profile->stops[static_cast<size_t>(row.stop)];
    Thread& thread = profile->threads[row.thread];
    uint64_t& sum = row.wait == kNone ? thread.sampled_cpu_ns
                    : runnable        ? thread.runnable_ns
                                      : thread.waiting_ns;
    sum += row.weight_ns;
    ++thread.samples;
    thread.waiting_samples += row.wait != kNone;
    thread.complete_stacks += complete;
  }
  std::stable_sort(profile->samples.begin(), profile->samples.end(),
                   [](const Sample& a, const Sample& b) { return a.time_ns < b.time_ns; });
}

// Waits become frames: the leaves of stacks of their own, one for each stack that waits.
void add_waits(std::vector<Wait> waits, Profile* profile) {
  const auto first = static_cast<uint32_t>(profile->locations.size());
  profile->waits = std::move(waits);
  for (uint32_t wait = 0; wait < profile->waits.size(); ++wait) {
    profile->locations.push_back({.wait = wait});
  }
  std::unordered_map<uint64_t, uint32_t> stacks;  // by stack and wait
  for (Sample& sample : profile->samples) {
    if (sample.wait == kNone) continue;
    const auto next = static_cast<uint32_t>(profile->stacks.size());
    const auto [place, is_new] =
        stacks.try_emplace(uint64_t{sample.stack} << 32 | sample.wait, next);
    if (is_new) profile->stacks.push_back({sample.stack, first + sample.wait});
    sample.stack = place->second;
  }
}

// The counters of a process only grow: its last row holds all.
void load_losses(const recording::Recording& from, Profile* profile) {
  profile->losses.assign(wire::kLossCount, 0);
  std::map<uint32_t, const recording::Losses*> last;
  for (const recording::Losses& row : from.losses) last[row.process] = &row;
  for (const auto& [process, row] : last) {
    for (size_t i = 0; i < wire::kLossCount; ++i) profile->losses[i] += row->count[i];
  }
}

}  // namespace

StringTable::StringTable() {
  intern("");
}

uint32_t StringTable::intern(std::string_view text) {
  const auto [place, is_new] =
      handles_.try_emplace(std::string(text), static_cast<uint32_t>(strings_.size()));
  if (is_new) strings_.push_back(&place->first);
  return place->second;
}

uint64_t Profile::duration_ns() const {
  if (end) return end->time_ns;
  return samples.empty() ? 0 : samples.back().time_ns;
}

Profile load(recording::Recording recording) {
  Profile profile;
  load_processes(recording, &profile);
  load_origins(recording, &profile);
  load_threads(recording, &profile);
  load_samples(recording, &profile);
  load_losses(recording, &profile);

  profile.locations.reserve(recording.frames.size());
  for (const recording::Frame& row : recording.frames) {
    profile.locations.push_back({.module = row.module, .address = row.address});
  }
  profile.stacks.reserve(recording.stacks.size());
  for (const recording::Stack& row : recording.stacks) {
    profile.stacks.push_back({row.prefix, row.frame});
  }
  enter_names(recording.names, &profile);
  add_waits(std::move(recording.waits), &profile);
  enter_jit_names(recording.names, &profile);
  load_markers(std::move(recording.markers), &profile);
  profile.session = std::move(recording.session);
  profile.end = std::move(recording.end);
  profile.rates = std::move(recording.rates);
  profile.modules = std::move(recording.modules);
  profile.damage = std::move(recording.damage);
  return profile;
}

std::string wait_name(const Wait& wait) {
  if (wait.call == kRunnable) return "[waiting for a CPU]";
  return "[" + wait.call + (wait.object.empty() ? "" : " " + wait.object) + "]";
}

}  // namespace sampan::profile
