#include "profile/load.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/huge_pages.h"
#include "profile/frames.h"
#include "profile/gil_holders.h"
#include "profile/jit_code.h"
#include "profile/load_watched.h"
#include "profile/markers.h"

namespace sampan::profile {
namespace {

void load_processes(const recording::Recording& from, Profile* profile) {
  for (const recording::Process& row : from.processes) {
    Process& process = profile->processes.emplace_back();
    process.pid = row.pid;
    process.parent_pid = row.parent_pid;
    process.path = row.name;
    process.name = std::string(file_name(row.name));
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

bool is_runnable(const recording::Recording& from, const recording::Sample& row) {
  return row.wait != kNone && from.waits[row.wait].call == kRunnable;
}

void count_sample(const recording::Sample& row, bool runnable, bool complete, Profile* profile) {
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

// The handles of the recording's contexts, of which some are equal.
std::vector<uint32_t> enter_contexts(const recording::Recording& from, Profile* profile) {
  Interner<TraceContext> contexts;
  std::vector<uint32_t> handles;
  for (const TraceContext& row : from.contexts) handles.push_back(contexts.intern(row).handle);
  profile->contexts = contexts.take();
  return handles;
}

// Samples come thread by thread, and are wanted by time. Each goes at once to its part of the time. There are as many parts as
// samples: few are left to sort in each.
void load_samples(const recording::Recording& from, Profile* profile) {
  const std::vector<recording::Sample>& rows = from.samples;
  profile->stops.assign(wire::kStopReasonCount, 0);
  reserve_in_huge_pages(rows.size(), &profile->samples);
  profile->samples.resize(rows.size());
  if (rows.empty()) return;
  const auto time_of = [](const auto& row) { return uint64_t{row.time_ns}; };
  const uint64_t last_ns =
      std::max<uint64_t>(time_of(*std::ranges::max_element(rows, {}, time_of)), 1);
  const double parts_per_ns = static_cast<double>(rows.size() - 1) / static_cast<double>(last_ns);
  const auto part_of = [&](const auto& row) {
    return static_cast<size_t>(static_cast<double>(time_of(row)) * parts_per_ns);
  };
  const std::vector<uint32_t> contexts = enter_contexts(from, profile);
  std::vector<uint32_t> ends;
  reserve_in_huge_pages(rows.size() + 1, &ends);
  ends.resize(rows.size() + 1);
  for (const recording::Sample& row : rows) ++ends[part_of(row) + 1];
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  for (const recording::Sample& row : rows) {
    // Threads that wait for a CPU are not walked: their stack is the wait alone.
    const bool runnable = is_runnable(from, row);
    const bool complete = row.stop == wire::StopReason::kRoot && (row.stack != kNone || runnable);
    profile->samples[ends[part_of(row)]++] = {row.time_ns,
                                              row.weight_ns,
                                              row.thread,
                                              row.stack,
                                              row.wait,
                                              complete,
                                              row.context == kNone ? kNone : contexts[row.context]};
    count_sample(row, runnable, complete, profile);
  }
  const auto end = profile->samples.end();
  for (auto part = profile->samples.begin(); part != end;) {
    const auto next = std::find_if(part, end, [&, number = part_of(*part)](const Sample& row) {
      return part_of(row) != number;
    });
    std::ranges::stable_sort(part, next, {}, time_of);
    part = next;
  }
}

void load_stacks(const recording::Recording& from, PythonFrames python, Profile* profile) {
  const std::vector<uint32_t> handles = enter_stacks(from, python, profile);
  for (Sample& sample : profile->samples) {
    if (sample.stack != kNone) sample.stack = handles[sample.stack];
  }
  load_watched(from, handles, profile);
}

// Waits become frames: the leaf of a new stack for each pair of a stack and its wait.
void enter_waits(Profile* profile) {
  const auto first = static_cast<uint32_t>(profile->locations.size());
  for (uint32_t wait = 0; wait < profile->waits.size(); ++wait) {
    profile->locations.push_back({.wait = wait});
  }
  const auto first_stack = static_cast<uint32_t>(profile->stacks.size());
  Interner<uint64_t> stacks;  // stack and wait
  for (Sample& sample : profile->samples) {
    if (sample.wait == kNone) continue;
    const auto [handle, is_new] = stacks.intern(uint64_t{sample.stack} << 32 | sample.wait);
    if (is_new) profile->stacks.push_back({sample.stack, first + sample.wait});
    sample.stack = first_stack + handle;
  }
}

// The counters of a process only grow, so its last row has the totals.
void load_losses(const recording::Recording& from, Profile* profile) {
  profile->losses.assign(wire::kLossCount, 0);
  std::map<uint32_t, const recording::Losses*> last;
  for (const recording::Losses& row : from.losses) last[row.process] = &row;
  for (const auto& [process, row] : last) {
    for (size_t i = 0; i < wire::kLossCount; ++i) profile->losses[i] += row->count[i];
  }
}

}  // namespace

Profile load(recording::Recording recording, PythonFrames python) {
  Profile profile;
  profile.damage = std::move(recording.damage);
  load_processes(recording, &profile);
  load_origins(recording, &profile);
  load_threads(recording, &profile);
  load_samples(recording, &profile);
  load_losses(recording, &profile);

  profile.locations.reserve(recording.frames.size());
  for (const recording::Frame& row : recording.frames) {
    profile.locations.push_back({.module = row.module, .address = row.address});
  }
  enter_names(recording.names, &profile);
  for (const vocabulary::Wait& row : recording.waits) profile.waits.push_back({row});
  name_gil_holders(recording, &profile);
  load_stacks(recording, python, &profile);
  enter_waits(&profile);
  enter_jit_names(recording.names, &profile);
  load_markers(std::move(recording.markers), &profile);
  profile.session = std::move(recording.session);
  profile.end = std::move(recording.end);
  profile.rates = std::move(recording.rates);
  profile.modules = std::move(recording.modules);
  return profile;
}

Profile load_sides(recording::MergeInput a, recording::MergeInput b, PythonFrames python) {
  std::vector<std::string> sides = {a.label, b.label};
  const auto processes_of_a = a.recording.processes.size();
  std::vector<recording::MergeInput> inputs;
  inputs.push_back(std::move(a));
  inputs.push_back(std::move(b));
  Profile profile = load(merge(std::move(inputs), recording::Align::kStart), python);
  profile.sides = std::move(sides);
  for (Thread& thread : profile.threads) thread.side = thread.process < processes_of_a ? 0 : 1;
  return profile;
}

void enter_names(const recording::Names& names, Profile* profile) {
  std::vector<uint32_t> texts, functions;
  texts.reserve(names.texts.size());
  for (const std::string& text : names.texts) texts.push_back(profile->strings.intern(text));
  // Frames of an interpreter were named one by one.
  Interner<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>> known;
  for (const recording::NamedFunction& row : names.functions) {
    const Function function{texts[row.name], texts[row.file], row.line, row.module};
    const auto [handle, is_new] =
        known.intern(std::tuple(function.name, function.file, function.line, function.module));
    if (is_new) profile->functions.push_back(function);
    functions.push_back(handle);
  }
  auto next = names.lines.begin();
  for (const recording::FrameNames& frame : names.frames) {
    const std::span lines(next, frame.line_count);
    next += frame.line_count;
    if (frame.frame >= profile->locations.size()) continue;
    Location& location = profile->locations[frame.frame];
    location.first_line = static_cast<uint32_t>(profile->lines.size());
    location.line_count = frame.line_count;
    for (const recording::NamedLine& line : lines) {
      profile->lines.push_back(
          {functions[line.function], texts[line.file], line.line, line.column});
    }
  }
}

void enter_jit_names(const recording::Names& names, Profile* profile) {
  std::vector<JitName> rows = names.jit;
  for (JitName& row : rows) row.name = profile->strings.intern(names.texts[row.name]);
  name_jit_code(std::move(rows), profile);
}

recording::Names names_to_record(const Profile& profile) {
  recording::Names names;
  names.texts.clear();
  for (uint32_t i = 0; i < profile.strings.size(); ++i) names.texts.push_back(profile.strings[i]);
  for (const Function& row : profile.functions) {
    names.functions.push_back({row.name, row.file, row.line, row.module});
  }
  std::vector<bool> has_jit_name(profile.locations.size());
  names.jit = profile.jit_names;
  for (const JitName& row : names.jit) has_jit_name[row.frame] = true;
  for (uint32_t i = 0; i < profile.locations.size(); ++i) {
    const Location& location = profile.locations[i];
    const bool is_recorded = location.wait == kNone && location.copy_of == kNone;
    if (!is_recorded || location.line_count == 0 || has_jit_name[i]) continue;
    names.frames.push_back({i, location.line_count});
    for (const Line& line :
         std::span(profile.lines).subspan(location.first_line, location.line_count)) {
      names.lines.push_back({line.function, line.file, line.line, line.column});
    }
  }
  return names;
}

}  // namespace sampan::profile
