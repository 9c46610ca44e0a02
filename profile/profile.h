// The model: what a recording says, as columns and integer handles. Everything else (call tree,
// flat table, per-thread views, time slices) is derived from it, by choice of the reader.
//
// Built from a recording by load(); the symbolizer fills in functions and lines. Times are
// nanoseconds since the session's start, CPU times and weights nanoseconds.
//
// A thread is on CPU or waits, and so is a sample of it. A waiting sample weighs wall time, and its
// leaf is a frame that stands for the wait, "[epoll_wait]", below which is the code that waits: so
// whatever shows stacks shows waits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "recording/markers.h"
#include "recording/reader.h"

namespace sampan::profile {

using recording::JitName;
using recording::kNone;
using recording::kRunnable;
using recording::kShortThread;
using recording::Origin;
using recording::Session;
using recording::SessionEnd;
using Module = recording::Module;
using Wait = recording::Wait;
using recording::Closed;
using recording::CounterValue;
using recording::Event;
using recording::Label;
using recording::Markers;
using recording::Pause;
using recording::Section;
using recording::Span;
using recording::SpanKind;

// Strings, stored once. Handle 0 is "".
class StringTable {
 public:
  StringTable();
  StringTable(StringTable&&) = default;  // a copy would point into the original
  StringTable& operator=(StringTable&&) = default;
  uint32_t intern(std::string_view text);
  const std::string& operator[](uint32_t handle) const { return *strings_[handle]; }
  size_t size() const { return strings_.size(); }

 private:
  std::unordered_map<std::string, uint32_t> handles_;  // node-based: keys stay where they are
  std::vector<const std::string*> strings_;
};

struct Process {
  int32_t pid = 0;
  int32_t parent_pid = 0;
  std::string path;  // of the executable
  std::string name;  // its file name, with the origin's label in front: "rank-3: solver"
  uint64_t start_ns = 0;
  std::optional<uint64_t> end_ns;
  std::optional<uint64_t> cpu_ns;  // true CPU, as the kernel accounted it
  std::optional<int> exit_status;
  std::optional<int> exit_signal;
  bool replaced = false;              // by exec
  bool lives_on = false;              // sampling of it has ended, the process has not
  uint32_t origin = kNone;            // where recordings were merged: the one it is from
  std::optional<int32_t> order = {};  // that it has given itself: see include/sampan/markers.h
};

struct Thread {
  uint32_t process = kNone;
  int32_t tid = 0;
  std::string name;  // the last one it had
  bool is_main = false;
  uint8_t side = 0;  // of a comparison, 0 or 1: see Profile::sides
  uint64_t start_ns = 0;
  std::optional<uint64_t> end_ns;
  std::optional<uint64_t> cpu_ns;  // true CPU since sampling began
  uint64_t sampled_cpu_ns = 0;     // sum of its samples' weights, on CPU
  uint64_t waiting_ns = 0;         // the same, waiting, but for:
  uint64_t runnable_ns = 0;        // waiting for a CPU
  uint64_t samples = 0;            // in all
  uint64_t waiting_samples = 0;
  uint64_t complete_stacks = 0;
  std::optional<int32_t> order = {};  // as of a process
};

struct Function {
  uint32_t name = 0;  // string: full, demangled
  uint32_t file = 0;  // string: of its definition; "" unknown
  uint32_t line = 0;  // of its definition; 0 unknown
  uint32_t module = kNone;
  friend bool operator==(const Function&, const Function&) = default;
};

// One source line of a location. Inlining gives a location several, innermost first.
struct Line {
  uint32_t function = kNone;
  uint32_t file = 0;  // string: of the line itself (differs by #include)
  uint32_t line = 0;  // 0 unknown
};

// A place in code; the frames of a recording, one to one, then the waits, then copies. Never
// without a line once symbolized:
// "[module+0x1234]" stands for a frame without a symbol.
struct Location {
  uint32_t module = kNone;
  uint64_t address = 0;     // lookup SVMA; AVMA where module is kNone
  uint32_t first_line = 0;  // into Profile::lines
  uint32_t line_count = 0;
  uint32_t wait = kNone;  // what it stands for, when it is no code
  // Of code that was made at run time, where it was another function at another time or in another
  // process: the location that stands for the frame. See jit_code.h.
  uint32_t copy_of = kNone;
};

struct Stack {
  uint32_t prefix = kNone;
  uint32_t location = kNone;
};

struct Sample {
  uint64_t time_ns;
  uint64_t weight_ns;
  uint32_t thread;
  uint32_t stack;  // kNone: nothing known
  uint32_t wait;   // kNone: on CPU
  bool complete;   // the walk reached the thread's root
};

struct Profile {
  Session session;
  std::optional<SessionEnd> end;
  std::vector<Origin> origins;     // of a merged recording, else none
  std::vector<std::string> sides;  // of two recordings that are compared: their names. Else none
  std::vector<Process> processes;
  std::vector<Thread> threads;  // in order of appearance
  std::vector<Module> modules;
  std::vector<Function> functions;
  std::vector<Line> lines;
  std::vector<Location> locations;
  std::vector<Wait> waits;
  std::vector<Stack> stacks;        // prefix before stack
  std::vector<Sample> samples;      // by time
  std::vector<JitName> jit_names;   // `frame` is a location, `name` a string
  Markers markers;                  // each table by time: of intervals, by begin, longest first
  recording::Rates rates;           // see rates.h
  std::vector<uint64_t> stops;      // samples by wire::StopReason
  std::vector<uint64_t> losses;     // by wire::Loss, over all processes
  std::vector<std::string> damage;  // of the recording file
  StringTable strings;

  uint64_t duration_ns() const;  // of the session, or up to the last sample
  bool has_waits() const { return !waits.empty() || session.clock == "wall"; }
  bool is_runnable(uint32_t wait) const { return waits[wait].call == kRunnable; }
};

Profile load(recording::Recording recording);

// What a wait is called as a frame: "[read pipe:[4711]]", "[waiting for a CPU]".
std::string wait_name(const Wait& wait);

}  // namespace sampan::profile
