// The rows of a recording: what the collector writes and what a reader returns. Rows refer to each
// other by their index in their table, in the order of writing.
//
// Times are nanoseconds since the session's start (`Session::start_unix_ns`); CPU times and weights
// are nanoseconds. The file keeps weights of samples to 1 µs and times of samples to 10 µs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/interner.h"
#include "base/markers.h"
#include "base/session.h"
#include "base/time.h"
#include "wire/loss.h"
#include "wire/record.h"
#include "wire/trace_context.h"

namespace sampan::recording {

using vocabulary::Closed;
using vocabulary::Cost;
using vocabulary::CounterValue;
using vocabulary::Event;
using vocabulary::JitName;
using vocabulary::kClosedCount;
using vocabulary::kNone;
using vocabulary::kRunnable;
using vocabulary::kSpanKindCount;
using vocabulary::kStepKindCount;
using vocabulary::kUnnamedCode;
using vocabulary::kWatchedCount;
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
using vocabulary::Wait;
using vocabulary::WatchChange;
using vocabulary::Watched;
using wire::TraceContext;

// The position of this file in a session that is recorded in several files.
struct Segment {
  uint32_t number = 0;
  SessionNs begin_ns = 0;
  uint64_t earlier_cpu_ns = 0;  // of all ends of processes in the segments before
};

// One image of a process: exec ends one and begins the next, with the same pid.
struct Process {
  int32_t pid = 0;
  int32_t parent_pid = 0;
  SessionNs start_ns = 0;
  std::string name;     // the executable's path, or that of the link it was started by
  uint32_t id = kNone;  // the same in all segments of a session; kNone: not known
};
struct ProcessEnd {
  uint32_t process = kNone;
  SessionNs time_ns = 0;
  std::optional<uint64_t> cpu_ns;  // what the kernel accounted to all its threads, in this image
  std::optional<int> exit_status;
  std::optional<int> exit_signal;
  bool replaced = false;  // by exec
  bool lives_on = false;  // its sampling has ended, the process has not
};

struct Thread {
  uint32_t process = kNone;
  int32_t tid = 0;
  SessionNs start_ns = 0;
  std::string name;
  uint32_t id = kNone;  // as of processes
};
struct ThreadName {
  uint32_t thread = kNone;
  SessionNs time_ns = 0;
  std::string name;
};
struct ThreadEnd {
  uint32_t thread = kNone;
  SessionNs time_ns = 0;
  // CPU since its sampling began; absent when it could not be read (SIGKILL).
  std::optional<uint64_t> cpu_ns;
};

// The address of a frame without a module that is no code: see wire/record.h.
using wire::kShortThread;

// A place in code. Lookup addresses: inside the instruction of the call, see base/address.h.
struct Frame {
  uint32_t module = kNone;  // kNone: no module there; `address` is then an AVMA (JIT code)
  uint64_t address = 0;     // SVMA in the module
  friend bool operator==(const Frame&, const Frame&) = default;
  uint64_t hash() const { return hash_of(std::pair(module, address)); }
};

// A stack is its caller's stack plus one frame. Parents come before children.
struct Stack {
  uint32_t prefix = kNone;  // kNone: `frame` is the root
  uint32_t frame = kNone;
  friend bool operator==(const Stack&, const Stack&) = default;
  uint64_t hash() const { return mix_bits(uint64_t{prefix} << 32 | frame); }
};

// The stack of a thread at one moment. It stands for what the thread did since its previous sample:
// for the CPU that it used or, if it waited, for the time that passed.
struct Sample {
  uint32_t thread = kNone;
  uint32_t stack = kNone;  // kNone: not even the pc is known
  SessionNs time_ns = 0;
  uint64_t weight_ns = 0;
  wire::StopReason stop = wire::StopReason::kRoot;
  uint32_t wait = kNone;     // kNone: on CPU
  uint32_t context = kNone;  // of the request that the thread worked for; kNone: of none
};

using wire::AllocationKind;
using wire::LockKind;

// An allocation that was drawn: at a mean of `mean` bytes between two draws, one of S bytes stands
// for S / (1 - exp(-S / mean)) bytes.
struct Allocation {
  uint32_t thread = kNone;
  uint32_t stack = kNone;
  SessionNs time_ns = 0;
  uint64_t id = 0;  // unique in its process
  uint64_t size = 0;
  uint64_t mean = 0;  // never 0 in a recording
  AllocationKind kind = AllocationKind::kHeap;
  wire::StopReason stop = wire::StopReason::kRoot;
  bool earlier = false;  // it lived when the file, or the part of it that was cut out, began
};
// The end of an allocation that was drawn, by any thread of its process.
struct Free {
  uint32_t thread = kNone;
  uint32_t stack = kNone;
  SessionNs time_ns = 0;
  uint64_t id = 0;  // of the allocation, in the process of the thread
  wire::StopReason stop = wire::StopReason::kRoot;
};

// A lock or an event that threads wait for.
struct Lock {
  uint32_t process = kNone;
  uint64_t address = 0;              // an AVMA
  uint32_t frame = kNone;            // where it lies, if that is in a module: a variable, not code
  uint32_t origin = kNone;           // the frame that initialised it, where that is known
  LockKind kind = LockKind::kMutex;  // a read-write lock is a kWriteLock here
  friend bool operator==(const Lock&, const Lock&) = default;
  uint64_t hash() const { return hash_of(std::tuple(process, address, frame, origin)); }
};
// A wait that was drawn: one of at least `limit_ns` always, a shorter one with the probability
// duration / limit. So it stands for max(duration, limit) of waiting.
struct LockWait {
  uint32_t thread = kNone;
  uint32_t stack = kNone;
  SessionNs begin_ns = 0;
  uint64_t duration_ns = 0;
  uint64_t limit_ns = 0;
  uint32_t lock = kNone;  // never kNone in a recording
  LockKind kind = LockKind::kMutex;
  wire::StopReason stop = wire::StopReason::kRoot;
  // Who held the lock when the wait began, and the stack of its release; kNone: not known.
  uint32_t holder = kNone, holder_stack = kNone;
  // Who ended the wait: by its release, its signal, its post.
  uint32_t waker = kNone, waker_stack = kNone;
  SessionNs woken_ns = 0;  // when; 0: not known
};

struct Losses {
  uint32_t process = kNone;
  uint64_t count[wire::kLossCount] = {};  // totals so far; the last row of a process counts
};

}  // namespace sampan::recording
