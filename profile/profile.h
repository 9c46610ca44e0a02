// The model: what a recording says, as columns and integer handles. Call trees, flat tables, views
// of threads and slices of time are derived from it.
//
// load() (load.h) makes it from a recording; the symbolizer fills in functions and lines. Times are
// nanoseconds since the session's start; CPU times and weights are nanoseconds.
//
// A thread is on CPU or waits, and so does each of its samples. A waiting sample weighs wall time.
// Its leaf is a frame that stands for the wait, "[epoll_wait]"; the frames that called it follow. So
// everything that shows stacks shows waits.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/interner.h"
#include "base/markers.h"
#include "base/session.h"
#include "base/time.h"
#include "wire/loss.h"
#include "wire/record.h"
#include "wire/trace_context.h"

namespace sampan::profile {

using vocabulary::Closed;
using vocabulary::Cost;
using vocabulary::CounterValue;
using vocabulary::Event;
using vocabulary::JitName;
using vocabulary::kNone;
using vocabulary::kRunnable;
using vocabulary::kUnnamedCode;
using vocabulary::Label;
using vocabulary::Markers;
using vocabulary::Module;
using vocabulary::Origin;
using vocabulary::Pause;
using vocabulary::RateChange;
using vocabulary::Rates;
using vocabulary::Section;
using vocabulary::Session;
using vocabulary::SessionEnd;
using vocabulary::Span;
using vocabulary::SpanKind;
using vocabulary::Step;
using vocabulary::StepKind;
using vocabulary::WatchChange;
using vocabulary::Watched;
using wire::TraceContext;

// The address of a location without a module that is no code: see wire/record.h.
using wire::kShortThread;

// Strings, stored once. Handle 0 is "". References to strings stay valid.
class StringTable : private TextTable<std::deque<std::string>> {
 public:
  uint32_t intern(std::string_view text) { return handle(text); }
  using Interner::operator[];
  using Interner::size;
};

struct Process {
  int32_t pid = 0;
  int32_t parent_pid = 0;
  std::string path;  // of the executable
  std::string name;  // its file name, with the origin's label in front: "rank-3: solver"
  SessionNs start_ns = 0;
  std::optional<SessionNs> end_ns;
  std::optional<uint64_t> cpu_ns;  // true CPU, as the kernel accounted it
  std::optional<int> exit_status;
  std::optional<int> exit_signal;
  bool replaced = false;              // by exec
  bool lives_on = false;              // its sampling has ended, the process has not
  uint32_t origin = kNone;            // in merged recordings: the one it is from
  std::optional<int32_t> order = {};  // that it gave itself: see include/sampan/markers.h
};

struct Thread {
  uint32_t process = kNone;
  int32_t tid = 0;
  std::string name;  // the last one it had
  bool is_main = false;
  uint8_t side = 0;  // of a comparison, 0 or 1: see Profile::sides
  SessionNs start_ns = 0;
  std::optional<SessionNs> end_ns;
  std::optional<uint64_t> cpu_ns;  // true CPU since sampling began
  uint64_t sampled_cpu_ns = 0;     // sum of its samples' weights, on CPU
  uint64_t waiting_ns = 0;         // the same, waiting, without runnable_ns
  uint64_t runnable_ns = 0;        // the same, waiting for a CPU
  uint64_t samples = 0;            // all
  uint64_t waiting_samples = 0;
  uint64_t complete_stacks = 0;
  std::optional<int32_t> order = {};  // as of Process
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
  uint32_t file = 0;    // string: of the line itself (differs by #include)
  uint32_t line = 0;    // 0 unknown
  uint32_t column = 0;  // of Python's functions, in bytes of UTF-8 from 1; 0 unknown
};

// What a thread waits for. `held_in` is the Python function in which the holder of Python's lock was
// meanwhile; "" where it is not known, and for other waits (gil_holders.h).
struct Wait : vocabulary::Wait {
  std::string held_in = {};
  uint32_t lock = kNone;  // row of Profile::locks; its name is the object once it is symbolized
};
// Wait::call of a thread that waits for Python's lock.
inline constexpr std::string_view kGil = "GIL";

// A place in code. First the frames of the recording, one to one, then the waits, then copies. Once
// symbolized, each has a line: "[module+0x1234]" stands for a frame without a symbol.
struct Location {
  uint32_t module = kNone;
  uint64_t address = 0;     // lookup SVMA; AVMA where module is kNone
  uint32_t first_line = 0;  // into Profile::lines
  uint32_t line_count = 0;
  uint32_t wait = kNone;  // the wait that it stands for; kNone: it is code
  // Code made at run time may be another function at another time or in another process. Each of
  // those is a copy of the location that stands for the frame. See jit_code.h.
  uint32_t copy_of = kNone;
};

struct Stack {
  uint32_t prefix = kNone;
  uint32_t location = kNone;
};

struct Sample {
  SessionNs time_ns;
  uint64_t weight_ns;
  uint32_t thread;
  uint32_t stack;            // kNone: nothing known
  uint32_t wait;             // kNone: on CPU
  bool complete;             // the walk reached the thread's root
  uint32_t context = kNone;  // kNone: its thread worked for no request
};

// An allocation that was drawn, and its end. heap.h says what it stands for.
struct Block {
  SessionNs time_ns;
  uint32_t thread = kNone;
  uint32_t stack = kNone;
  uint64_t size = 0;
  uint64_t mean = 0;  // bytes between two draws
  wire::AllocationKind kind = wire::AllocationKind::kHeap;
  wire::StopReason stop = wire::StopReason::kRoot;
  bool earlier = false;             // it lived when the recording began
  SessionNs freed_ns = UINT64_MAX;  // UINT64_MAX: it lives
  uint32_t freeing_thread = kNone;
  uint32_t freeing_stack = kNone;
};

// What threads wait for by functions of the C library.
struct Lock {
  uint32_t process = kNone;
  uint64_t address = 0;       // AVMA
  uint32_t location = kNone;  // of the variable, if it lies in a module
  uint32_t origin = kNone;    // the location that initialised it
  wire::LockKind kind = wire::LockKind::kMutex;
};

// A wait that was drawn. locks.h says what it stands for.
struct LockWait {
  SessionNs begin_ns;
  uint64_t duration_ns = 0;
  uint64_t limit_ns = 0;
  uint32_t thread = kNone;
  uint32_t stack = kNone;
  uint32_t lock = kNone;
  wire::LockKind kind = wire::LockKind::kMutex;
  wire::StopReason stop = wire::StopReason::kRoot;
  // Who held it when the wait began, and the stack of its release; who ended the wait. kNone: not known.
  uint32_t holder = kNone, holder_stack = kNone;
  uint32_t waker = kNone, waker_stack = kNone;
  SessionNs woken_ns = 0;  // 0: not known

  SessionNs end_ns() const { return begin_ns + duration_ns; }
};

// What the samples of a profile are.
enum class Shown {
  kSamples,  // of threads: CPU and waiting
  kHeap,     // Profile::blocks, by the same index (heap.h)
  kLocks,    // Profile::lock_waits, by the same index (locks.h)
};

// What show() replaces of a profile of threads' samples (shown.h).
struct Sampled {
  Session session;
  Rates rates;
  std::vector<Process> processes;
  std::vector<Thread> threads;
  std::vector<Sample> samples;
  std::vector<uint64_t> stops;
};

struct Profile {
  Session session;
  std::optional<SessionEnd> end;
  std::vector<Origin> origins;     // of a merged recording; else empty
  std::vector<std::string> sides;  // names of the two recordings that are compared; else empty
  std::vector<Process> processes;
  std::vector<Thread> threads;  // in order of appearance
  std::vector<Module> modules;
  std::vector<Function> functions;
  std::vector<Line> lines;
  std::vector<Location> locations;
  std::vector<Wait> waits;
  std::vector<Stack> stacks;           // prefix before stack
  std::vector<TraceContext> contexts;  // each once
  std::vector<Sample> samples;         // by time
  Shown shown = Shown::kSamples;
  std::shared_ptr<const Sampled> sampled;  // while it shows something else; else null
  std::vector<Block> blocks;               // by time
  uint64_t unknown_frees = 0;              // of allocations that are not in the recording
  std::vector<Lock> locks;
  std::vector<LockWait> lock_waits;  // by their ends
  std::vector<WatchChange> watch_changes;
  std::vector<JitName> jit_names;
  Markers markers;                  // each table by time; intervals by begin, longest first
  Rates rates;                      // see rates.h
  std::vector<uint64_t> stops;      // samples by wire::StopReason
  std::vector<uint64_t> losses;     // by wire::Loss, summed over all processes
  std::vector<std::string> damage;  // of the recording file
  StringTable strings;

  SessionNs duration_ns() const;  // of the session, or up to the last sample
  bool has_waits() const;
  bool has_watched(Watched what) const;  // it was on at some time
  bool can_show(Shown what) const;       // it was recorded, be it that there was nothing
  bool is_runnable(uint32_t wait) const { return waits[wait].call == kRunnable; }
};

// What a person must know about the recording's end, in sentences; empty when it ended well.
std::vector<std::string> notes_of_end(const Profile& profile);

// A reason for losses that occurred, and how often (losses.cpp).
struct Lost {
  const char* key;   // in JSON
  const char* text;  // for people
  uint64_t count;
};
std::vector<Lost> losses(const Profile& profile);

// The name of a wait's frame: "[read pipe:[4711]]", "[GIL held by thread 7 worker in parse]",
// "[waiting for a CPU]".
std::string wait_name(const Wait& wait);

}  // namespace sampan::profile
