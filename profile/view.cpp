#include "profile/view.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/huge_pages.h"
#include "base/nearest.h"
#include "profile/heap.h"
#include "profile/sections.h"
#include "profile/trace_ids.h"

namespace sampan::profile {
namespace {

// Threads whose name or tid is `wanted`; there may be several.
std::vector<uint32_t> threads_called(const Profile& profile, const std::string& wanted) {
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < profile.threads.size(); ++i) {
    const Thread& thread = profile.threads[i];
    if (thread.name == wanted || std::to_string(thread.tid) == wanted) found.push_back(i);
  }
  if (!found.empty()) return found;
  std::vector<std::string> known;
  for (const Thread& thread : profile.threads) {
    known.push_back(thread.name);
    known.push_back(std::to_string(thread.tid));
  }
  throw Error("no thread is called '{}'{}", wanted, did_you_mean(wanted, known));
}

void check_process(const Profile& profile, int32_t pid) {
  std::vector<std::string> known;
  for (const Process& process : profile.processes) {
    if (process.pid == pid) return;
    known.push_back(std::to_string(process.pid));
  }
  throw Error("no process has the pid {}{}", pid, did_you_mean(std::to_string(pid), known));
}

// By origin.
std::vector<bool> wanted_origins(const Profile& profile, const std::vector<std::string>& labels) {
  std::vector<bool> wanted(profile.origins.size());
  std::vector<std::string> known;
  for (const Origin& origin : profile.origins) known.push_back(origin.label);
  for (const std::string& label : labels) {
    const auto found = std::find(known.begin(), known.end(), label);
    if (known.empty()) throw Error("the recording is not a merged one: nothing has a label");
    if (found == known.end()) throw Error("no label is '{}'{}", label, did_you_mean(label, known));
    wanted[static_cast<size_t>(found - known.begin())] = true;
  }
  return wanted;
}

std::vector<bool> wanted_threads(const Profile& profile, const Selection& selection) {
  std::vector<bool> wanted(profile.threads.size(), selection.threads.empty());
  for (const std::string& name : selection.threads) {
    for (const uint32_t thread : threads_called(profile, name)) wanted[thread] = true;
  }
  if (selection.process) {
    check_process(profile, *selection.process);
    for (uint32_t i = 0; i < wanted.size(); ++i) {
      const Process& process = profile.processes[profile.threads[i].process];
      if (process.pid != *selection.process) wanted[i] = false;
    }
  }
  if (!selection.labels.empty()) {
    const std::vector<bool> origins = wanted_origins(profile, selection.labels);
    for (uint32_t i = 0; i < wanted.size(); ++i) {
      const uint32_t origin = profile.processes[profile.threads[i].process].origin;
      if (origin == kNone || !origins[origin]) wanted[i] = false;
    }
  }
  return wanted;
}

// Seconds before the start or after the end are valid: they select everything on that side.
SessionNs time_at(double seconds) {
  if (!(seconds > 0)) return 0;
  return SessionNs::at(seconds < 1e10 ? static_cast<uint64_t>(seconds * 1e9) : UINT64_MAX);
}

// Rows with an order come before those without.
std::pair<bool, int32_t> place(const std::optional<int32_t>& order) {
  return {!order, order.value_or(0)};
}

// By the order that they gave themselves, if any; then by process, main first, then busiest first.
void sort_threads(const Profile& profile, std::vector<uint32_t>* threads) {
  const auto process_place = [&](const Thread& thread) {
    return place(profile.processes[thread.process].order);
  };
  std::stable_sort(threads->begin(), threads->end(), [&](uint32_t a, uint32_t b) {
    const Thread &x = profile.threads[a], &y = profile.threads[b];
    return std::tuple(process_place(x), x.process, place(x.order), !x.is_main, y.sampled_cpu_ns) <
           std::tuple(process_place(y), y.process, place(y.order), !y.is_main, x.sampled_cpu_ns);
  });
}

// The first thread of each name, in the view's order, represents the others.
void merge_threads(View* view) {
  const Profile& profile = *view->profile;
  std::map<std::pair<uint32_t, std::string>, uint32_t> first;  // by process and name
  view->merged_into.resize(profile.threads.size());
  std::iota(view->merged_into.begin(), view->merged_into.end(), 0);
  std::erase_if(view->threads, [&](uint32_t thread) {
    const std::pair key(profile.threads[thread].process, view->thread_name(thread));
    const uint32_t into = first.try_emplace(key, thread).first->second;
    view->merged_into[thread] = into;
    return into != thread;
  });
}

}  // namespace

std::string pool_name(const std::string& name) {
  const size_t number = name.find_last_not_of("0123456789");
  if (number == std::string::npos || number + 1 == name.size()) return name;
  const size_t word = name.find_last_not_of("-_#/:. ", number);
  return name.substr(0, word == std::string::npos ? number + 1 : word + 1);
}

std::string View::thread_name(uint32_t thread) const {
  const std::string& name = profile->threads[thread].name;
  return merge == Merge::kPool ? pool_name(name) : name;
}

View View::part(std::vector<uint32_t> some_samples, std::vector<uint32_t> some_threads) const {
  return {.profile = profile,
          .state = state,
          .samples = std::move(some_samples),
          .threads = std::move(some_threads),
          .merged_into = merged_into,
          .merge = merge,
          .from_ns = from_ns,
          .to_ns = to_ns,
          .section = section,
          .heap = heap,
          .is_of_trace = is_of_trace};
}

bool View::meets(uint32_t thread, SessionNs begin_ns, SessionNs end_ns) const {
  begin_ns = std::max(begin_ns, from_ns);
  end_ns = std::min(end_ns, to_ns);
  return begin_ns <= end_ns && (!section || section->meet(thread, begin_ns, end_ns));
}

bool View::meets_process(uint32_t process, SessionNs begin_ns, SessionNs end_ns) const {
  begin_ns = std::max(begin_ns, from_ns);
  end_ns = std::min(end_ns, to_ns);
  return begin_ns <= end_ns && (!section || section->meet_process(process, begin_ns, end_ns));
}

View select(const Profile& profile, const Selection& selection) {
  if (selection.from_s && selection.to_s && *selection.from_s > *selection.to_s) {
    throw Error("the time from {} s to {} s is empty", *selection.from_s, *selection.to_s);
  }
  const std::vector<bool> wanted = wanted_threads(profile, selection);
  const SessionNs from_ns = time_at(selection.from_s.value_or(0));
  const SessionNs to_ns = selection.to_s ? time_at(*selection.to_s) : SessionNs(UINT64_MAX);

  if (selection.state == State::kWaiting && !profile.has_waits()) {
    throw Error("the recording has no waiting samples: record with --clock wall");
  }
  if (selection.trace && profile.shown != Shown::kSamples) {
    throw Error("only samples have a trace id: allocations and waits for locks have none");
  }
  const std::vector<bool> in_trace =
      selection.trace ? contexts_of_trace(profile, *selection.trace) : std::vector<bool>();
  const auto wanted_context = [&](const Sample& sample) {
    return !selection.trace || (sample.context != kNone && in_trace[sample.context]);
  };
  const auto wanted_state = [&](uint32_t index) {
    if (profile.shown == Shown::kHeap) return is_in(profile, index, selection.heap, to_ns);
    return selection.state == State::kAll ||
           (selection.state == State::kWaiting) == (profile.samples[index].wait != kNone);
  };

  View view{.profile = &profile,
            .state = selection.state,
            .samples = {},
            .threads = {},
            .merge = selection.merge,
            .from_ns = from_ns,
            .to_ns = to_ns,
            .heap = selection.heap,
            .is_of_trace = selection.trace.has_value()};
  reserve_in_huge_pages(profile.samples.size(), &view.samples);
  for (uint32_t i = 0; i < profile.samples.size(); ++i) {
    const Sample& sample = profile.samples[i];
    if (wanted[sample.thread] && sample.time_ns >= from_ns && sample.time_ns <= to_ns &&
        wanted_state(i) && wanted_context(sample)) {
      view.samples.push_back(i);
    }
  }
  for (uint32_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) view.threads.push_back(i);
  }
  sort_threads(profile, &view.threads);
  if (selection.section) view = only_section(view, named_section(profile, *selection.section));
  if (view.merge != Merge::kNothing) merge_threads(&view);
  return view;
}

View unmerged(const View& view) {
  if (view.merged_into.empty()) return view;
  std::vector<bool> wanted(view.profile->threads.size());
  for (const uint32_t thread : view.threads) wanted[thread] = true;
  View result = view;
  result.threads.clear();
  for (uint32_t i = 0; i < wanted.size(); ++i) {
    if (wanted[view.merged_into[i]]) result.threads.push_back(i);
  }
  sort_threads(*view.profile, &result.threads);
  result.merged_into.clear();
  result.merge = Merge::kNothing;
  return result;
}

View only_thread(const View& view, uint32_t thread) {
  std::vector<uint32_t> samples;
  for (const uint32_t index : view.samples) {
    if (view.thread_of(view.profile->samples[index].thread) == thread) samples.push_back(index);
  }
  return view.part(std::move(samples), {thread});
}

}  // namespace sampan::profile
