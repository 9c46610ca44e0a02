// Parts of a recording by time.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "recording/combiner.h"
#include "recording/segments.h"

namespace sampan::recording {
namespace {

struct Window {
  SessionNs from_ns, to_ns;

  bool has(SessionNs time_ns) const { return from_ns <= time_ns && time_ns < to_ns; }
  bool covers(const Recording& recording) const {
    if (from_ns > recording.segment.value_or(Segment()).begin_ns) return false;
    return to_ns == UINT64_MAX || (recording.end && recording.end->time_ns < to_ns);
  }
};

template <typename Rows>
void keep_moments(const Window& window, Rows* rows) {
  std::erase_if(*rows, [&](const auto& row) { return !window.has(row.time_ns); });
}

template <typename Rows>
void drop_later(const Window& window, Rows* rows) {
  std::erase_if(*rows, [&](const auto& row) { return row.time_ns >= window.to_ns; });
}

template <typename Rows>
void clip(const Window& window, Rows* rows) {
  std::erase_if(*rows, [&](const auto& row) {
    return row.begin_ns >= window.to_ns || row.end_ns < window.from_ns;
  });
  for (auto& row : *rows) {
    row.begin_ns = std::max(row.begin_ns, window.from_ns);
    row.end_ns = std::clamp(row.end_ns, row.begin_ns, window.to_ns);
  }
}

// Including the one that held at the window's begin.
template <typename Rows>
void keep_states(const Window& window, Rows* rows) {
  drop_later(window, rows);
  while (rows->size() > 1 && (*rows)[1].time_ns <= window.from_ns) rows->erase(rows->begin());
}

// Blocks that lived when the window began are kept, as of then.
void cut_blocks(const Window& window, Recording* recording) {
  const auto block = [&](const auto& row) {
    return std::pair(recording->threads[row.thread].process, row.id);
  };
  std::set<std::pair<uint32_t, uint64_t>> freed_before;
  for (const Free& row : recording->frees) {
    if (row.time_ns < window.from_ns) freed_before.insert(block(row));
  }
  drop_later(window, &recording->allocations);
  std::erase_if(recording->allocations, [&](const Allocation& row) {
    return row.time_ns < window.from_ns && freed_before.contains(block(row));
  });
  for (Allocation& row : recording->allocations) {
    row.earlier |= row.time_ns < window.from_ns;
    row.time_ns = std::max(row.time_ns, window.from_ns);
  }
  keep_moments(window, &recording->frees);
}

// Including the one of each process that held at the window's begin, as of then.
void cut_watch_changes(const Window& window, Recording* recording) {
  drop_later(window, &recording->watch_changes);
  std::map<std::pair<uint32_t, Watched>, WatchChange> at_begin;
  std::erase_if(recording->watch_changes, [&](const WatchChange& row) {
    if (row.time_ns > window.from_ns) return false;
    at_begin[{row.process, row.what}] = row;
    return true;
  });
  std::vector<WatchChange> rows;
  for (auto& [of, row] : at_begin) {
    row.time_ns = window.from_ns;
    rows.push_back(row);
  }
  rows.insert(rows.end(), recording->watch_changes.begin(), recording->watch_changes.end());
  recording->watch_changes = std::move(rows);
}

void cut_rows(const Window& window, Recording* recording) {
  cut_blocks(window, recording);
  cut_watch_changes(window, recording);
  std::erase_if(recording->lock_waits,
                [&](const LockWait& row) { return !window.has(row.begin_ns + row.duration_ns); });
  keep_moments(window, &recording->samples);
  keep_moments(window, &recording->markers.events);
  keep_moments(window, &recording->markers.counters);
  std::erase_if(recording->markers.spans,
                [&](const Span& span) { return !window.has(span.end_ns); });
  clip(window, &recording->markers.sections);
  clip(window, &recording->markers.pauses);
  clip(window, &recording->markers.steps);
  drop_later(window, &recording->markers.labels);
  drop_later(window, &recording->thread_names);
  keep_states(window, &recording->rates.changes);
  keep_states(window, &recording->rates.costs);
}

// Those that lived in the window according to their ends, and those that other rows refer to.
template <typename Row, typename End, typename Index>
std::vector<bool> lived(const Window& window, const std::vector<Row>& rows,
                        const std::vector<End>& ends, Index index) {
  std::vector<bool> lived;
  for (const Row& row : rows) lived.push_back(row.start_ns < window.to_ns);
  for (const End& end : ends) {
    if (end.time_ns < window.from_ns) lived[end.*index] = false;
  }
  return lived;
}

std::vector<bool> threads_in(const Window& window, const Recording& recording) {
  std::vector<bool> kept =
      lived(window, recording.threads, recording.thread_ends, &ThreadEnd::thread);
  const auto keep = [&](uint32_t thread) {
    if (thread != kNone) kept[thread] = true;
  };
  for (const Sample& row : recording.samples) keep(row.thread);
  for (const Span& row : recording.markers.spans) {
    keep(row.thread);
    keep(row.end_thread);
  }
  for (const Event& row : recording.markers.events) keep(row.thread);
  for (const CounterValue& row : recording.markers.counters) keep(row.thread);
  for (const Section& row : recording.markers.sections) keep(row.thread);
  for (const Step& row : recording.markers.steps) keep(row.thread);
  for (const Allocation& row : recording.allocations) keep(row.thread);
  for (const Free& row : recording.frees) keep(row.thread);
  for (const LockWait& row : recording.lock_waits) {
    keep(row.thread);
    keep(row.holder);
    keep(row.waker);
  }
  return kept;
}

template <typename Ends>
void cut_ends(const Window& window, Ends* ends) {
  drop_later(window, ends);
  for (auto& end : *ends) end.cpu_ns.reset();
}

void take_away_earlier_losses(Recording* recording) {
  for (const Losses& earlier : std::exchange(recording->earlier_losses, {})) {
    for (Losses& row : recording->losses) {
      if (row.process != earlier.process) continue;
      for (size_t i = 0; i < wire::kLossCount; ++i) {
        row.count[i] -= std::min(row.count[i], earlier.count[i]);
      }
    }
  }
}

}  // namespace

Recording cut(Recording from, SessionNs from_ns, SessionNs to_ns) {
  const Window window{from_ns, to_ns};
  if (window.covers(from)) return from;
  cut_rows(window, &from);
  const std::vector<bool> threads = threads_in(window, from);
  std::vector<bool> processes =
      lived(window, from.processes, from.process_ends, &ProcessEnd::process);
  for (size_t i = 0; i < threads.size(); ++i) {
    if (threads[i]) processes[from.threads[i].process] = true;
  }
  cut_ends(window, &from.thread_ends);
  cut_ends(window, &from.process_ends);

  Combiner combiner;
  Combiner::Places places;
  for (size_t i = 0; i < processes.size(); ++i) {
    places.processes.push_back(processes[i] ? combiner.add(std::move(from.processes[i])) : kNone);
  }
  for (size_t i = 0; i < threads.size(); ++i) {
    Thread& row = from.threads[i];
    row.process = places.processes[row.process];
    places.threads.push_back(threads[i] ? combiner.add(std::move(row)) : kNone);
  }
  for (Losses row : from.losses) {
    const bool of_process = row.process != kNone;
    row.process = mapped(row.process, places.processes);
    if (!of_process || row.process != kNone) combiner.add(row);
  }
  for (Losses row : from.earlier_losses) {
    row.process = places.processes[row.process];
    if (row.process != kNone) combiner.combined().earlier_losses.push_back(row);
  }
  combiner.add_rows(from, places, 0);

  Recording part = combiner.take();
  part.session = std::move(from.session);
  part.rates = std::move(from.rates);
  part.damage = std::move(from.damage);
  part.segment = from.segment.value_or(Segment());
  part.segment->begin_ns = std::max(part.segment->begin_ns, from_ns);
  part.segment->earlier_cpu_ns = 0;
  if (from.end && from.end->time_ns < to_ns) {
    part.end = std::move(from.end);
    part.end->user_cpu_ns = part.end->system_cpu_ns = 0;
    part.end->instructions.reset();
  } else if (to_ns != UINT64_MAX) {
    SessionEnd& end = part.end.emplace();
    end.time_ns = to_ns;
    if (from.end) end.sampling_clocks = from.end->sampling_clocks;
  }
  return part;
}

Recording rebased(Recording recording) {
  const Segment segment = recording.segment.value_or(Segment());
  recording.segment.reset();
  take_away_earlier_losses(&recording);
  if (segment.begin_ns == 0) return recording;
  const auto move = [&](auto* rows) {
    for (auto& row : *rows) {
      const auto back = [&](SessionNs* time_ns) { *time_ns = time_ns->earlier(segment.begin_ns); };
      if constexpr (requires { row.from_ns; }) back(&row.from_ns);
      if constexpr (requires { row.time_ns; }) back(&row.time_ns);
      if constexpr (requires { row.start_ns; }) back(&row.start_ns);
      if constexpr (requires { row.begin_ns; }) back(&row.begin_ns);
      if constexpr (requires { row.end_ns; }) back(&row.end_ns);
    }
  };
  recording.session.start_unix_ns = recording.session.unix_time(segment.begin_ns);
  if (recording.session.start_monotonic_ns != 0) {
    recording.session.start_monotonic_ns += uint64_t{segment.begin_ns};
  }
  move(&recording.names.jit);
  for (LockWait& row : recording.lock_waits) {  // before their begins are moved
    const uint64_t before = segment.begin_ns.since(row.begin_ns);
    row.duration_ns -= std::min(before, row.duration_ns);
    row.woken_ns = row.woken_ns.earlier(segment.begin_ns);
  }
  for_each_table(kRowTables, [&](auto table) { move(&(recording.*table)); });
  move(&recording.rates.changes);
  move(&recording.rates.costs);
  for_each_table(kMarkerTables, [&](auto table) { move(&(recording.markers.*table)); });
  if (recording.end) {
    SessionEnd& end = *recording.end;
    end.time_ns = end.time_ns.earlier(segment.begin_ns);
    const uint64_t of_user_ns = std::min(segment.earlier_cpu_ns, end.user_cpu_ns);
    end.user_cpu_ns -= of_user_ns;
    end.system_cpu_ns -= std::min(segment.earlier_cpu_ns - of_user_ns, end.system_cpu_ns);
    if (segment.number > 0) end.instructions.reset();  // of all segments
  }
  return recording;
}

}  // namespace sampan::recording
