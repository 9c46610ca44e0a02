// Chrome trace JSON: a timeline of what each thread ran, for chrome://tracing, ui.perfetto.dev and
// speedscope. Format: "Trace Event Format" (Google, docs.google.com/document/d/
// 1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU).
//
// - The array form, an event per line: a file that was cut off still opens.
// - Complete events (ph X), parents before children, strictly nested: viewers require this and do
//   not check it.
// - Waits are grey and have the category "waiting"; Python's functions are
//   yellow, of the category "python"; other code has a colour for each module.
// - A counter of each process (ph C) shows how many of its threads were on CPU, over time.
// - Slices have no `args`: speedscope makes them part of the frame's name, and so splits functions.
// - Viewers open about 100 MB. A longer trace loses its shortest slices, the deepest first: their
//   time becomes part of the calling slice, and a note says how many. Markers get up to half of the
//   size (trace_markers.h), tasks and requests up to an eighth each (trace_tasks.h).
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "exporters/formats.h"
#include "exporters/output_file.h"
#include "exporters/trace_budget.h"
#include "exporters/trace_events.h"
#include "exporters/trace_markers.h"
#include "exporters/trace_slices.h"
#include "exporters/trace_tasks.h"
#include "profile/view.h"

namespace sampan::exporters {
namespace {

// The number of threads of a process on CPU over time: the mean of each time step.
struct RunningThreads {
  uint64_t begin_ns = 0;  // of the first step
  uint64_t step_ns = 0;   // 0: there are no samples
  // By process of the profile; empty for those without samples on CPU.
  std::vector<std::vector<double>> by_process;
};

constexpr size_t kFewestSteps = 10;
constexpr size_t kMostSteps = 1000;
// A thread's CPU is known once per sampling period; shorter steps would show the sampling itself.
constexpr uint64_t kShortestStep = 20'000'000;

// At most `most_steps` in all processes together; none if each would get too few.
RunningThreads running_threads(const profile::View& view, size_t most_steps) {
  const profile::Profile& profile = *view.profile;
  RunningThreads result;
  result.by_process.resize(profile.processes.size());
  std::vector<bool> has_cpu(profile.processes.size());
  SessionNs begin_ns = UINT64_MAX, end_ns = 0;
  const auto for_each_on_cpu = [&](const auto& visit) {
    for (const uint32_t index : view.samples) {
      const profile::Sample& sample = profile.samples[index];
      if (sample.wait != profile::kNone) continue;
      visit(profile.threads[sample.thread].process, sample.time_ns.earlier(sample.weight_ns),
            sample.time_ns);
    }
  };
  for_each_on_cpu([&](uint32_t process, SessionNs from_ns, SessionNs to_ns) {
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
  for_each_on_cpu([&](uint32_t process, SessionNs from_ns, SessionNs to_ns) {
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

using profile::Process;
using profile::Thread;

using ByteSink = std::function<void(std::string_view)>;

// Writes events one by one, with a comma before each but the first.
class EventFile {
 public:
  static constexpr std::string_view kSeparator = ",\n";

  explicit EventFile(const ByteSink& write) : write_(write) { write_("[\n"); }
  void event(std::string_view text) {
    if (!first_) write_(kSeparator);
    first_ = false;
    write_(text);
    size_ += text.size() + kSeparator.size();
  }
  void end() { write_("\n]\n"); }
  uint64_t size() const { return size_; }

 private:
  const ByteSink& write_;
  bool first_ = true;
  uint64_t size_ = 6;
};

// Writes the slices that are kept, after the outermost one is closed: parents are written first,
// but whether a parent is kept is known last.
class SliceWriter : public SliceSink {
 public:
  SliceWriter(const TraceEvents& events, Rank first_kept, EventFile& file)
      : events_(events), first_kept_(first_kept), file_(file) {}

  void open(uint32_t function, uint64_t begin_us) override {
    open_.push_back(waiting_.size());
    waiting_.push_back({function, begin_us, 0});
  }
  void close(uint64_t end_us) override {
    Slice& slice = waiting_[open_.back()];
    slice.end_us = end_us;
    open_.pop_back();
    // The slices inside it are closed already, so it is the last one.
    if (Rank::of(end_us - slice.begin_us, open_.size()).before(first_kept_)) waiting_.pop_back();
    if (!open_.empty()) return;
    for (const Slice& kept : waiting_) {
      text_.clear();
      events_.append_slice(kept.function, kept.begin_us, kept.end_us, &text_);
      file_.event(text_);
    }
    waiting_.clear();
  }

 private:
  struct Slice {
    uint32_t function;
    uint64_t begin_us, end_us;
  };

  const TraceEvents& events_;
  Rank first_kept_;
  EventFile& file_;
  std::vector<Slice> waiting_;  // in the order of opening
  std::vector<size_t> open_;    // into waiting_
  std::string text_;
};

// Names and order of tracks. A pid or tid may have been used several times, after exec or later: it
// has the position of the first use and the name of the last. The track of a thread's markers is
// above the thread.
void write_names(const profile::View& view, const TraceMarkers& markers, EventFile& file) {
  const profile::Profile& profile = *view.profile;
  struct Row {
    size_t sort_index = 0;
    uint64_t start_ns = 0;
    std::string name;
    bool has_markers = false;
  };
  std::map<int32_t, Row> processes;
  std::map<std::pair<int32_t, int32_t>, Row> threads;
  const auto add = [](auto& rows, const auto& key, SessionNs start_ns, const std::string& name) {
    const auto [row, added] = rows.try_emplace(key);
    if (added) row->second.sort_index = rows.size() - 1;
    if (!added && start_ns < row->second.start_ns) return;
    row->second.start_ns = start_ns;
    row->second.name = name;
  };
  const std::vector<int32_t> pids = trace_pids(profile);
  bool have_markers = false;
  for (const uint32_t index : view.threads) {
    const Thread& thread = profile.threads[index];
    const Process& process = profile.processes[thread.process];
    const std::pair ids(pids[thread.process], thread.tid);
    add(processes, ids.first, process.start_ns, process.name);
    add(threads, ids, thread.start_ns, thread.name);
    if (!markers.has_track(index)) continue;
    threads[ids].has_markers = have_markers = true;
  }
  for (const auto& [pid, row] : processes) {
    file.event(metadata_event("process_name", pid, pid, row.name));
    file.event(metadata_event("process_sort_index", pid, pid, row.sort_index));
  }
  for (const auto& [ids, row] : threads) {
    const size_t place = have_markers ? 2 * row.sort_index + 1 : row.sort_index;
    file.event(metadata_event("thread_name", ids.first, ids.second, row.name));
    file.event(metadata_event("thread_sort_index", ids.first, ids.second, place));
    if (!row.has_markers) continue;
    const int64_t track = ids.second + kMarkerTrack;
    file.event(metadata_event("thread_name", ids.first, track, row.name + ": markers"));
    file.event(metadata_event("thread_sort_index", ids.first, track, place - 1));
  }
}

// They take at most a tenth of the file.
void write_counters(const profile::View& view, uint64_t max_size, EventFile& file) {
  constexpr uint64_t kMostEvents = 20'000;
  constexpr uint64_t kEventSize = 100;
  const RunningThreads running =
      running_threads(view, std::min(kMostEvents, max_size / 10 / kEventSize));
  const std::vector<int32_t> pids = trace_pids(*view.profile);
  for (size_t process = 0; process < running.by_process.size(); ++process) {
    const std::vector<double>& steps = running.by_process[process];
    const auto event = [&](size_t step, double threads) {
      file.event(counter_event("threads on CPU", pids[process],
                               (running.begin_ns + step * running.step_ns) / 1000, "threads",
                               threads));
    };
    for (size_t step = 0; step < steps.size(); ++step) {
      if (step == 0 || steps[step] != steps[step - 1]) event(step, steps[step]);
    }
    if (!steps.empty() && steps.back() != 0) event(steps.size(), 0);
  }
}

constexpr uint64_t kShareOfTasks = 8;

Outcome write_events(const profile::View& view, const ByteSink& write, uint64_t max_size) {
  TraceSlices slices(view);
  TraceEvents events(view);
  const auto for_each_thread = [&](SliceSink& sink) {
    for (const TraceSlices::Track& track : slices.tracks()) {
      events.set_thread(view.profile->threads[track.thread]);
      slices.build(track, sink);
    }
  };

  const uint64_t limit = max_size == 0 ? UINT64_MAX : max_size;
  EventFile event_file(write);
  const TraceMarkers markers(view, limit / 2);
  write_names(view, markers, event_file);
  write_counters(view, limit, event_file);
  markers.write([&](std::string_view event) { event_file.event(event); });
  std::vector<std::string> notes = markers.notes();
  for (TraceLabels labels : {task_labels_of(view), request_labels_of(view)}) {
    const TraceTasks runs(view, std::move(labels), limit / kShareOfTasks);
    runs.write([&](std::string_view event) { event_file.event(event); });
    notes.insert(notes.end(), runs.notes().begin(), runs.notes().end());
  }

  TraceBudget budget([&](uint32_t function, uint64_t begin_us, uint64_t end_us) {
    return events.slice_size(function, begin_us, end_us) + EventFile::kSeparator.size();
  });
  for_each_thread(budget);
  const auto cut = budget.cut(limit - std::min(limit, event_file.size()));
  SliceWriter writer(events, cut.first_kept, event_file);
  for_each_thread(writer);
  event_file.end();

  Outcome outcome{std::move(notes)};
  if (cut.merged != 0) {
    outcome.notes.push_back(fmt::format(
        "{} of {} slices, the shortest (up to {:.1f} ms), are merged into their callers: viewers "
        "open {} MB at most. --thread, --from and --to show a part in full",
        cut.merged, budget.all().count, static_cast<double>(cut.longest_us) / 1000,
        max_size / 1'000'000));
  }
  return outcome;
}

}  // namespace

Outcome write_trace(const profile::View& view, const std::string& path, uint64_t max_size) {
  OutputFile file(path);
  Outcome outcome = write_events(
      view, [&](std::string_view text) { file.write(text); }, max_size);
  file.commit();
  return outcome;
}

Outcome write_trace_gz(const profile::View& view, const std::string& path, uint64_t max_size) {
  OutputFile file(path);
  GzipWriter gzip(file);
  Outcome outcome = write_events(
      view, [&](std::string_view text) { gzip.write(text); }, max_size);
  gzip.finish();
  file.commit();
  return outcome;
}

}  // namespace sampan::exporters
