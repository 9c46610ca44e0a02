// Where the samples of a recording come from. A source samples processes, adds them to a
// RecordingSession, and adds to them what it sees. It works in the session's thread and EventLoop.
//
// Sources: ShimSource (rings that the shim in each process fills), and the engines that sample a
// process from outside, see docs/attaching.md: perf never stops the target; ptrace stops a thread
// for microseconds when it has used its period of CPU; poll interrupts threads that run at the
// moment.
//
// Times are CLOCK_MONOTONIC nanoseconds.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/time.h"
#include "base/units.h"
#include "sampler/recorder/recorded_process.h"

namespace sampan::sampler {

// What sends the sampling signal above the kernel's tick, in processes with the shim. Up to the tick, CPU timers do.
enum class SamplingClock {
  kAuto,   // perf events, where the kernel permits them, else the drummer
  kPerf,   // perf events; without them, threads stay at the tick
  kDrum,   // the drummer
  kTimer,  // nothing: threads stay at the tick
};

// What processes with libsampan_wrappers.so record besides their CPU. Absent: not at all; 0: not now.
inline constexpr uint64_t kUsualHeapMean = uint64_t{512} * 1024;
inline constexpr uint64_t kLargestHeapMean = uint64_t{1} << 30;
inline constexpr uint64_t kUsualLockLimitNs = 10 * kNsPerUs;
struct WatchOptions {
  std::optional<uint64_t> heap_mean;      // bytes between two sampled allocations, on average
  std::optional<uint64_t> lock_limit_ns;  // the wait for a lock from which each is recorded
  bool any() const { return heap_mean || lock_limit_ns; }
};

class Source {
 public:
  // Sampling ends; the processes go on as if nothing had been. The same must hold when this process
  // is killed at any instant.
  virtual ~Source() = default;

  // Adds what there is now to the recorded processes.
  virtual void read(MonotonicNs now_ns) = 0;
  // When read() should be called next; 0: after every event, and at least every 50 ms.
  virtual MonotonicNs next_read_ns() const { return 0; }
  // Samples per second of CPU, from now on; what was taken at the old rate has been read. Throws
  // Error when the kernel does not permit it: the rate is as before.
  virtual void set_rate(uint32_t rate_hz) = 0;
  // What else the processes record; the setting is as of recording::WatchChange. Throws Error where no process can.
  virtual void set_watched(recording::Watched what, uint64_t setting);
  virtual WatchOptions watched() const { return {}; }
  // CPU that samples have cost the processes so far, in nanoseconds.
  virtual uint64_t cost_ns() const = 0;
  // The process has ended, and its last row is written.
  virtual void process_ended(const RecordedProcess&) {}
  // What the user should know: "ptrace: samples come at the kernel's tick, 250 Hz at most".
  virtual std::string note() const { return ""; }
  // SessionEnd::sampling_clocks so far.
  virtual uint32_t sampling_clocks() const { return 0; }
};

inline void Source::set_watched(recording::Watched, uint64_t) {
  throw Error(
      "allocations and locks are recorded only in programs that `sampan run --heap` or `--locks` "
      "has started; with "
      "--heap=off it records none until it is asked");
}

// A source that samples from outside.
class Engine : public Source {
 public:
  // Samples all threads of `pid`, those that come later, and its children if they are followed.
  // Throws Refused when the kernel does not permit it, Error otherwise. `pid` may be a child of
  // ours that waits before its exec (sampler/launch/launch.h).
  virtual void attach(pid_t pid) = 0;
};

// The kernel does not permit this engine for this process; another one may be tried.
class Refused : public Error {
 public:
  template <typename... Args>
  explicit Refused(int error, fmt::format_string<Args...> format, Args&&... args)
      : Error(format, std::forward<Args>(args)...), error_number(error) {}
  const int error_number;
};

// Looks at the processes of a session besides their source: `--clock wall` samples waiting threads.
// It adds to the rows that the source has made, so the source is read before each look.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void began(RecordedProcess& process) = 0;
  // Called at the rate of sampling, but no more often than every millisecond.
  virtual void look(MonotonicNs now_ns) = 0;
  // The segment of the recording ends; the next look is in the next one.
  virtual void end_segment(MonotonicNs now_ns) = 0;
  // The process, or its image, has ended: its last rows are to be written now.
  virtual void ended(pid_t pid, MonotonicNs now_ns) = 0;
};

}  // namespace sampan::sampler
