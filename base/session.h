// Rows about a session and its modules, waits and rates. The recording stores them and the model
// shows them: loading a recording moves them (see also markers.h).
//
// Times are nanoseconds since the session's start (`Session::start_unix_ns`); CPU times are
// nanoseconds.
//
// Hosted only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/interner.h"
#include "base/time.h"

namespace sampan::vocabulary {

inline constexpr uint32_t kNone = UINT32_MAX;  // an index or a handle of nothing

// Labels that tell a worker of a parallel job from the others.
inline constexpr const char* kRank = "rank";
inline constexpr const char* kArrayTask = "array_task";
inline constexpr const char* kPodName = "k8s.pod.name";

struct Session {
  std::string program;  // file name of the command, or --name
  std::vector<std::string> command;
  std::string host;
  std::string kernel;  // uname -r
  std::string sampan_version;
  UnixNs start_unix_ns = 0;
  MonotonicNs start_monotonic_ns = 0;  // the same moment by CLOCK_MONOTONIC; 0: not known
  uint32_t rate_hz = 0;                // asked for
  uint32_t kernel_hz = 0;              // the kernel's tick
  std::optional<uint32_t> cpus = {};   // of the machine, online when the session began
  std::string clock = "cpu";           // or "wall": samples on CPU and waiting
  std::string engine = "preload";
  // Weights count these, in thousandths: "cycles", "bytes" (profile/unit.h). "": they are time.
  std::string unit = {};
  // What the user and the environment said about the recording: {"rank", "7"}, {"k8s.pod.name", …}. Each name once.
  std::vector<std::pair<std::string, std::string>> labels = {};
  // How far start_unix_ns was from the true time at most, as the host's kernel was told by its time service. Absent: no
  // service keeps the clock, or it is not known.
  std::optional<uint64_t> clock_error_ns = {};

  std::string label(std::string_view name) const {  // "": there is none
    for (const auto& [key, value] : labels) {
      if (key == name) return value;
    }
    return "";
  }
  // "rank-7", "task-3-rank-0", or the name of the pod; "" if its labels do not tell it from others.
  std::string worker_name() const {
    const std::string task = label(kArrayTask), rank = label(kRank);
    if (task.empty() && rank.empty()) return label(kPodName);
    const std::string prefix = task.empty() ? "" : "task-" + task + (rank.empty() ? "" : "-");
    return rank.empty() ? prefix : prefix + "rank-" + rank;
  }
  std::string counted() const { return unit.empty() ? "time" : unit; }
  // Recorded by another program: engine is "import of a pprof file".
  bool is_imported() const { return engine.starts_with("import "); }
  UnixNs unix_time(SessionNs time_ns) const { return start_unix_ns + uint64_t{time_ns}; }
};

// Written when a session ends. Absent when sampan was killed.
struct SessionEnd {
  SessionNs time_ns = 0;           // duration of the session
  std::optional<int> exit_status;  // of the command
  std::optional<int> exit_signal;
  uint64_t user_cpu_ns = 0;  // getrusage of the command and of all children it waited for
  uint64_t system_cpu_ns = 0;
  std::string note;  // why nothing was sampled, and what to do; empty otherwise
  // The command and its descendants executed so many outside the kernel. Absent: not counted.
  std::optional<uint64_t> instructions = {};
  // The clocks that sent sampling signals while the rate was above the kernel's tick, as bits: processes may differ.
  // 0: the rate was never above the tick, or an engine took the samples, which sends no signals.
  enum Clock : uint8_t { kPerfClock = 1, kDrumClock = 2, kTimerClock = 4 };
  uint32_t sampling_clocks = 0;
};

// One of the recordings that were merged.
struct Origin {
  std::string label;  // distinguishes them: "rank-3"
  std::string host;
  std::string program;
  UnixNs start_unix_ns = 0;
  uint64_t processes = 0;  // how many rows, after those of the earlier origins
};

// A file whose code was mapped executable. One row for all processes that mapped the same file.
struct Module {
  std::string path;               // as the loader names it; "[vdso]"
  std::vector<uint8_t> build_id;  // may be empty
  uint64_t svma_begin = 0;        // of the loaded segments, for viewers that need a mapping
  uint64_t svma_end = 0;

  // The same file, wherever its segments were loaded.
  friend bool operator==(const Module& a, const Module& b) {
    return a.path == b.path && a.build_id == b.build_id;
  }
  uint64_t hash() const {
    const std::string_view id(reinterpret_cast<const char*>(build_id.data()), build_id.size());
    return hash_of(std::pair(std::string_view(path), id));
  }
};

// The wait of a thread, in words.
struct Wait {
  std::string call;    // "epoll_wait", "futex", "page fault"; kRunnable
  std::string object;  // "pipe:[4711]", "tcp 10.0.0.1:443"; may be empty
  friend bool operator==(const Wait&, const Wait&) = default;
  uint64_t hash() const {
    return hash_of(std::pair(std::string_view(call), std::string_view(object)));
  }
};
// Wait::call of a thread that could run and has no CPU.
inline constexpr const char* kRunnable = "runnable";

// The name of code that was made at run time, in one process and from a time on.
struct JitName {
  uint32_t process = 0;
  uint32_t frame = 0;  // without a module
  SessionNs from_ns = 0;
  uint32_t name = 0;  // into the texts of the names, or of the profile
  friend bool operator==(const JitName&, const JitName&) = default;
};

// The name of code that was made at run time, where no other is known.
inline constexpr const char* kUnnamedCode = "[jit]";

// From then on so many samples were asked for per second of a thread's CPU. Before the first of
// them it was Session::rate_hz.
struct RateChange {
  SessionNs time_ns = 0;
  uint32_t rate_hz = 0;
  bool governed = false;  // by --max-overhead: lower than what the person asked for
  friend bool operator==(const RateChange&, const RateChange&) = default;
};

// The cost of sampling up to a time: CPU since the session's start.
struct Cost {
  SessionNs time_ns = 0;
  uint64_t target_ns = 0;     // used by the processes, including in_target_ns
  uint64_t in_target_ns = 0;  // used in them by sampling: measured in part, in part estimated
  uint64_t recorder_ns = 0;   // used by the sampan that records
  friend bool operator==(const Cost&, const Cost&) = default;
};

// What is recorded of a process besides its CPU, from a time on.
enum class Watched : uint8_t { kHeap = 0, kLocks = 1 };
inline constexpr unsigned kWatchedCount = 2;
struct WatchChange {
  uint32_t process = kNone;
  SessionNs time_ns = 0;
  Watched what = Watched::kHeap;
  uint64_t setting = 0;  // the mean in bytes, or the limit in ns; 0: off
};

struct Rates {
  std::vector<RateChange> changes;
  std::vector<Cost> costs;
};

}  // namespace sampan::vocabulary
