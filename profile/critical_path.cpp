#include "profile/critical_path.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/error.h"
#include "base/nearest.h"
#include "profile/frames.h"
#include "profile/sections.h"

namespace sampan::profile {
namespace {

struct PathInterval {
  uint32_t thread;
  SessionNs begin_ns, end_ns;
};

// A time on a thread that did not wait for a recorded lock.
using PathStep = PathInterval;

// Rows of a table of the profile by thread, in the order of the table.
struct ByThread {
  std::vector<std::vector<uint32_t>> rows;

  template <typename Row, typename Wanted>
  ByThread(size_t threads, const std::vector<Row>& table, Wanted&& wanted) : rows(threads) {
    for (uint32_t i = 0; i < table.size(); ++i) {
      if (wanted(table[i])) rows[table[i].thread].push_back(i);
    }
  }
};

class PathWalk {
 public:
  explicit PathWalk(const Profile& profile)
      : profile_(profile),
        waits_(profile.threads.size(), profile.lock_waits, [](const LockWait&) { return true; }),
        on_cpu_(profile.threads.size(), profile.samples,
                [](const Sample& sample) { return sample.wait == kNone; }),
        waiting_(profile.threads.size(), profile.samples,
                 [](const Sample& sample) { return sample.wait != kNone; }) {}

  void walk(const PathInterval& interval) {
    ++path_.intervals;
    path_.total_ns += interval.end_ns - interval.begin_ns;
    uint32_t thread = interval.thread;
    SessionNs now_ns = interval.end_ns;
    // Each round ends earlier than it began, or on the interval's own thread, which had begun.
    while (now_ns > interval.begin_ns) {
      const SessionNs begin_ns = std::clamp(start_of(thread, interval), interval.begin_ns, now_ns);
      const LockWait* const wait = last_wait(thread, begin_ns, now_ns);
      add_step({thread, wait == nullptr ? begin_ns : wait->end_ns(), now_ns});
      if (wait == nullptr) {
        // Who made the thread is not known. Before it was there, the interval's thread was.
        now_ns = begin_ns;
        thread = interval.thread;
        continue;
      }
      const bool known = wait->waker != kNone && wait->waker != thread && wait->woken_ns != 0;
      const SessionNs woken_ns = known ? std::max(wait->woken_ns, wait->begin_ns) : wait->begin_ns;
      const SessionNs left_ns = std::max(interval.begin_ns, std::min(woken_ns, wait->end_ns()));
      rows_[{thread, known ? PathPart::kWoken : PathPart::kNotKnown, kNone, wait->lock}] +=
          wait->end_ns() - left_ns;
      now_ns = left_ns;
      if (!known || now_ns == interval.begin_ns) continue;
      ++handovers_[{thread, wait->waker, wait->lock}];
      thread = wait->waker;
    }
  }

  CriticalPath finish() {
    for (auto& [thread, times] : threads_) add_rows(thread, times);
    for (const auto& [key, ns] : rows_) {
      const auto& [thread, part, function, object] = key;
      if (ns != 0) path_.rows.push_back({thread, part, function, object, ns});
    }
    std::ranges::stable_sort(path_.rows, std::ranges::greater(), &PathRow::ns);
    for (const auto& [key, count] : handovers_) {
      const auto& [waiter, waker, lock] = key;
      path_.handovers.push_back({waiter, waker, lock, count});
    }
    std::ranges::stable_sort(path_.handovers, std::ranges::greater(), &PathHandover::count);
    return std::move(path_);
  }

 private:
  // What the samples of a thread say of its steps.
  struct ThreadTimes {
    uint64_t steps_ns = 0;
    uint64_t cpu_ns = 0;
    uint64_t waiting_ns = 0;
    std::map<uint32_t, uint64_t> cpu = {};      // by function
    std::map<uint32_t, uint64_t> waiting = {};  // by wait
  };

  // 0 for the interval's own thread: the interval lies in its life.
  SessionNs start_of(uint32_t thread, const PathInterval& interval) const {
    return thread == interval.thread ? SessionNs(0) : profile_.threads[thread].start_ns;
  }

  // The last wait of the thread that ended in between, without both; null if there is none.
  const LockWait* last_wait(uint32_t thread, SessionNs after_ns, SessionNs before_ns) const {
    const std::vector<uint32_t>& waits = waits_.rows[thread];
    const auto next = std::ranges::lower_bound(
        waits, before_ns, {}, [&](uint32_t wait) { return profile_.lock_waits[wait].end_ns(); });
    if (next == waits.begin()) return nullptr;
    const LockWait& wait = profile_.lock_waits[*(next - 1)];
    return wait.end_ns() > after_ns ? &wait : nullptr;
  }

  // The samples of one kind after `time_ns`: positions in `samples`.
  auto after(const std::vector<uint32_t>& samples, SessionNs time_ns) const {
    return std::ranges::upper_bound(
        samples, time_ns, {}, [&](uint32_t sample) { return profile_.samples[sample].time_ns; });
  }

  void add_step(const PathStep& step) {
    if (step.end_ns <= step.begin_ns) return;
    ThreadTimes& times = threads_[step.thread];
    times.steps_ns += step.end_ns - step.begin_ns;
    const std::vector<uint32_t>& on_cpu = on_cpu_.rows[step.thread];
    for (auto at = after(on_cpu, step.begin_ns); at != on_cpu.end(); ++at) {
      const Sample& sample = profile_.samples[*at];
      if (sample.time_ns > step.end_ns) break;
      times.cpu_ns += sample.weight_ns;
      times.cpu[leaf_function(profile_, sample.stack)] += sample.weight_ns;
    }
    const std::vector<uint32_t>& waiting = waiting_.rows[step.thread];
    for (auto at = after(waiting, step.begin_ns); at != waiting.end(); ++at) {
      const Sample& sample = profile_.samples[*at];
      const SessionNs begin_ns = std::max(step.begin_ns, sample.time_ns.earlier(sample.weight_ns));
      const SessionNs end_ns = std::min(step.end_ns, sample.time_ns);
      if (begin_ns < end_ns) {
        times.waiting_ns += end_ns - begin_ns;
        times.waiting[sample.wait] += end_ns - begin_ns;
      }
      if (sample.time_ns >= step.end_ns) break;  // the next one begins later
    }
  }

  // Samples on CPU are an estimate, and may weigh more than the time that there is.
  void add_rows(uint32_t thread, const ThreadTimes& times) {
    const uint64_t waiting_ns = std::min(times.waiting_ns, times.steps_ns);
    const uint64_t room_ns = times.steps_ns - waiting_ns;
    uint64_t left_ns = times.steps_ns;
    const auto add = [&](PathPart part, uint32_t function, uint32_t object, uint64_t ns) {
      rows_[{thread, part, function, object}] += ns;
      left_ns -= ns;
    };
    for (const auto& [wait, ns] : times.waiting) {
      add(PathPart::kWait, kNone, wait, part_of(ns, waiting_ns, times.waiting_ns));
    }
    for (const auto& [function, ns] : times.cpu) {
      add(PathPart::kCpu, function, kNone,
          part_of(ns, std::min(room_ns, times.cpu_ns), times.cpu_ns));
    }
    add(PathPart::kUnsampled, kNone, kNone, left_ns);
  }

  // ns * of / all, rounded down, where ns and `of` are at most `all`.
  static uint64_t part_of(uint64_t ns, uint64_t of, uint64_t all) {
    __extension__ using Wide = unsigned __int128;
    return all == 0 ? 0 : static_cast<uint64_t>(Wide{ns} * of / all);
  }

  const Profile& profile_;
  const ByThread waits_, on_cpu_, waiting_;
  std::map<uint32_t, ThreadTimes> threads_;
  std::map<std::tuple<uint32_t, PathPart, uint32_t, uint32_t>, uint64_t> rows_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint64_t> handovers_;
  CriticalPath path_;
};

std::vector<PathInterval> thread_lives(const Profile& profile, const std::string& name) {
  std::vector<PathInterval> found;
  for (uint32_t i = 0; i < profile.threads.size(); ++i) {
    const Thread& thread = profile.threads[i];
    if (thread.name != name && std::to_string(thread.tid) != name) continue;
    found.push_back({i, thread.start_ns, thread.end_ns.value_or(profile.duration_ns())});
  }
  return found;
}

std::vector<PathInterval> spans_called(const Profile& profile, const std::string& name) {
  std::vector<PathInterval> found;
  for (const Span& span : profile.markers.spans) {
    if (profile.markers.texts[span.name] != name) continue;
    found.push_back({span.end_thread, span.begin_ns, span.end_ns});
  }
  return found;
}

uint32_t main_thread(const Profile& profile, uint32_t process) {
  for (uint32_t i = 0; i < profile.threads.size(); ++i) {
    const Thread& thread = profile.threads[i];
    if (thread.process == process && thread.tid == profile.processes[process].pid) return i;
  }
  return kNone;
}

std::vector<PathInterval> sections_called(const Profile& profile, const std::string& name) {
  std::vector<PathInterval> found;
  for (const Section& section : profile.markers.sections) {
    if (profile.markers.texts[section.name] != name) continue;
    const uint32_t thread =
        section.thread != kNone ? section.thread : main_thread(profile, section.process);
    if (thread != kNone) found.push_back({thread, section.begin_ns, section.end_ns});
  }
  return found;
}

std::vector<PathInterval> intervals_called(const Profile& profile, const std::string& what) {
  for (const auto find : {thread_lives, spans_called, sections_called}) {
    std::vector<PathInterval> found = find(profile, what);
    if (!found.empty()) return found;
  }
  std::vector<std::string> known;
  for (const Thread& thread : profile.threads) known.push_back(thread.name);
  for (const Span& span : profile.markers.spans) known.push_back(profile.markers.texts[span.name]);
  for (const NamedSection& section : named_sections(profile)) {
    known.push_back(profile.markers.texts[section.name]);
  }
  throw Error("no thread, span or section is called '{}'{}", what, did_you_mean(what, known));
}

}  // namespace

CriticalPath critical_path(const View& view, const std::string& what) {
  const Profile& profile = *view.profile;
  if (!profile.can_show(Shown::kLocks)) {
    throw Error("who waited for whom is not in the recording: record with `sampan run --locks`");
  }
  PathWalk walk(profile);
  for (PathInterval interval : intervals_called(profile, what)) {
    interval.begin_ns = std::max(interval.begin_ns, view.from_ns);
    interval.end_ns = std::min(interval.end_ns, view.to_ns);
    if (interval.begin_ns < interval.end_ns) walk.walk(interval);
  }
  return walk.finish();
}

}  // namespace sampan::profile
