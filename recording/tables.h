// The vocabulary of a recording: what the collector writes, and what a reader gets back. Everything
// is a row of a table, and a row is known by its index, in the order of writing.
//
// Times are nanoseconds since the session's start (`Session::start_unix_ns`), CPU times and weights
// nanoseconds. Of samples, weights are kept to the microsecond, and times to ten.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/loss.h"
#include "wire/record.h"
#include "wire/stop_reason.h"

namespace sampan::recording {

inline constexpr uint32_t kNone = UINT32_MAX;  // an index that points to nothing

struct Session {
  std::string program;  // file name of the command, or --name
  std::vector<std::string> command;
  std::string host;
  std::string kernel;  // uname -r
  std::string sampan_version;
  uint64_t start_unix_ns = 0;
  uint64_t start_monotonic_ns = 0;  // the same moment by CLOCK_MONOTONIC; 0: not known
  uint32_t rate_hz = 0;             // asked for
  uint32_t kernel_hz = 0;           // the kernel's tick
  std::string clock = "cpu";        // or "wall": samples on CPU and waiting
  std::string engine = "preload";
};

// One of the recordings that a merged one was made of.
struct Origin {
  std::string label;  // told apart by it: "rank-3"
  std::string host;
  std::string program;
  uint64_t start_unix_ns = 0;
  uint64_t processes = 0;  // as many rows, behind those of the origins before it
};

// Of a session that is recorded in several files, one after the other: which of them this is.
struct Segment {
  uint32_t number = 0;
  uint64_t begin_ns = 0;
  uint64_t earlier_cpu_ns = 0;  // of all ends of processes in the segments before
};

// What is known when a session has ended in order. Absent from the recording of a killed sampan.
struct SessionEnd {
  uint64_t time_ns = 0;            // duration of the session
  std::optional<int> exit_status;  // of the command
  std::optional<int> exit_signal;
  uint64_t user_cpu_ns = 0;  // getrusage of the command and all it waited for
  uint64_t system_cpu_ns = 0;
  std::string note;  // why nothing was sampled, and what to do; empty otherwise
};

// One image of a process: exec ends one and begins the next, with the same pid.
struct Process {
  int32_t pid = 0;
  int32_t parent_pid = 0;
  uint64_t start_ns = 0;
  std::string name;     // the executable's path
  uint32_t id = kNone;  // the same in all segments of a session; kNone: not known
};
struct ProcessEnd {
  uint32_t process = kNone;
  uint64_t time_ns = 0;
  std::optional<uint64_t> cpu_ns;  // what the kernel accounted to all its threads, in this image
  std::optional<int> exit_status;
  std::optional<int> exit_signal;
  bool replaced = false;  // by exec
  bool lives_on = false;  // sampling of it has ended, the process has not
};

struct Thread {
  uint32_t process = kNone;
  int32_t tid = 0;
  uint64_t start_ns = 0;
  std::string name;
  uint32_t id = kNone;  // as of processes
};
struct ThreadName {
  uint32_t thread = kNone;
  uint64_t time_ns = 0;
  std::string name;
};
struct ThreadEnd {
  uint32_t thread = kNone;
  uint64_t time_ns = 0;
  // CPU since sampling of the thread began; absent when nobody could read it (SIGKILL).
  std::optional<uint64_t> cpu_ns;
};

// A file whose code was mapped executable. One row for all processes that mapped the same file.
struct Module {
  std::string path;               // as the loader names it; "[vdso]"
  std::vector<uint8_t> build_id;  // may be empty
  uint64_t svma_begin = 0;        // of the loaded segments, for viewers that want a mapping
  uint64_t svma_end = 0;
};

// The address of a frame without a module that is no code: see wire/record.h.
using wire::kShortThread;

// A place in code. Lookup addresses: inside the instruction of the call, see base/address.h.
struct Frame {
  uint32_t module = kNone;  // kNone: no module there; `address` is then an AVMA (JIT code)
  uint64_t address = 0;     // SVMA in the module
  friend bool operator==(const Frame&, const Frame&) = default;
};

// A stack is its caller's stack plus one frame. Parents come before children.
struct Stack {
  uint32_t prefix = kNone;  // kNone: `frame` is the root
  uint32_t frame = kNone;
};

// What a thread waits in, as a person reads it.
struct Wait {
  std::string call;    // "epoll_wait", "futex", "page fault"; kRunnable
  std::string object;  // "pipe:[4711]", "tcp 10.0.0.1:443"; may be empty
  friend bool operator==(const Wait&, const Wait&) = default;
};
// The call of a thread that could run and has no CPU.
inline constexpr const char* kRunnable = "runnable";

// The stack of a thread at one moment. It stands for what its thread did since its sample before:
// for the CPU that it used or, where it waited, for the time that passed.
struct Sample {
  uint32_t thread = kNone;
  uint32_t stack = kNone;  // kNone: not even the pc is known
  uint64_t time_ns = 0;
  uint64_t weight_ns = 0;
  wire::StopReason stop = wire::StopReason::kRoot;
  uint32_t wait = kNone;  // kNone: on CPU
};

// From then on so many samples were asked for per second of a thread's CPU. Before the first of
// them it was Session::rate_hz.
struct RateChange {
  uint64_t time_ns = 0;
  uint32_t rate_hz = 0;
  bool governed = false;  // by --max-overhead: lower than what the person asked for
  friend bool operator==(const RateChange&, const RateChange&) = default;
};

// What sampling has cost up to then; CPU, all since the session's start.
struct Cost {
  uint64_t time_ns = 0;
  uint64_t target_ns = 0;     // that the processes have used, with in_target_ns
  uint64_t in_target_ns = 0;  // of it, for samples: measured in part, in part estimated
  uint64_t recorder_ns = 0;   // of the sampan that records
  friend bool operator==(const Cost&, const Cost&) = default;
};

struct Losses {
  uint32_t process = kNone;
  uint64_t count[wire::kLossCount] = {};  // totals so far; the last row of a process counts
};

}  // namespace sampan::recording
