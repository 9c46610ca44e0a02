// Reads a recording, whole or damaged, old or still being written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "recording/markers.h"
#include "recording/names.h"
#include "recording/rate_codec.h"
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
  std::vector<Sample> samples;  // as recorded: in time order within a thread and wait
  std::vector<Losses> losses;
  Rates rates;
  // Of a segment: where they stood at its begin, of processes that had begun before.
  std::vector<Losses> earlier_losses;
  Markers markers;
  Names names;
  // What is wrong with the file, each with its place: "block at byte 4711: checksum differs".
  // Everything before (and, where blocks do not depend on it, after) is in the tables.
  std::vector<std::string> damage;
};

// Throws Error when `path` cannot be read, is no recording, or is of another version. All indexes
// in the result are valid or kNone, and a stack's prefix is below the stack.
Recording read(const std::string& path);
// The same of bytes in memory; `name` stands in messages.
Recording parse(std::string_view bytes, const std::string& name);

}  // namespace sampan::recording
