// Reads a recording: whole or damaged, of an older version, or still being written.
#pragma once

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "recording/names.h"
#include "recording/tables.h"

namespace sampan::recording {

struct Recording {
  Session session;
  std::optional<SessionEnd> end;
  std::vector<Origin> origins;     // none: the recording was not merged
  std::optional<Segment> segment;  // absent: the first of its session, or the only one
  std::vector<Process> processes;
  std::vector<ProcessEnd> process_ends;
  std::vector<Thread> threads;
  std::vector<ThreadName> thread_names;
  std::vector<ThreadEnd> thread_ends;
  std::vector<Module> modules;
  std::vector<Frame> frames;
  std::vector<Stack> stacks;
  std::vector<Wait> waits;
  std::vector<TraceContext> contexts;  // some may be equal
  std::vector<Sample> samples;         // as recorded: in time order within a thread and wait
  std::vector<Losses> losses;
  std::vector<WatchChange> watch_changes;
  std::vector<Allocation> allocations;  // in time order within a thread, as all of these
  std::vector<Free> frees;
  std::vector<Lock> locks;
  std::vector<LockWait> lock_waits;  // but these, whose releases may be known late
  Rates rates;
  // In a segment: the losses at its begin, of processes that had begun earlier.
  std::vector<Losses> earlier_losses;
  Markers markers;
  Names names;
  // What is wrong with the file, and where: "block at byte 4711: checksum differs". Everything
  // before it is in the tables, and everything after it that does not depend on it.
  std::vector<std::string> damage;
};

// The tables that kRows and kMarkers have, as members: for what is done to each of them.
inline constexpr std::tuple kRowTables(&Recording::processes, &Recording::process_ends,
                                       &Recording::threads, &Recording::thread_names,
                                       &Recording::thread_ends, &Recording::modules,
                                       &Recording::frames, &Recording::stacks, &Recording::waits,
                                       &Recording::contexts, &Recording::samples,
                                       &Recording::losses, &Recording::watch_changes,
                                       &Recording::allocations, &Recording::frees,
                                       &Recording::locks, &Recording::lock_waits);
inline constexpr std::tuple kMarkerTables(&Markers::spans, &Markers::events, &Markers::counters,
                                          &Markers::sections, &Markers::pauses, &Markers::labels,
                                          &Markers::steps);
template <typename Tables, typename Visit>
void for_each_table(const Tables& tables, const Visit& visit) {
  std::apply([&](auto... table) { (visit(table), ...); }, tables);
}

// Throws Error when `path` cannot be read, is no recording, or is of another version. All indexes
// in the result are valid or kNone, and a stack's prefix is below the stack.
Recording read(const std::string& path);
// The same for bytes in memory; `name` is used in messages.
Recording parse(std::string_view bytes, const std::string& name);

}  // namespace sampan::recording
