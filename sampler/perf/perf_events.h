// The perf events that sample threads from outside, and the rings that they write into.
//
// Each thread has one event per CPU, because only such events can both be inherited by the threads
// that it makes and share a ring. There is one ring per CPU, which belongs to an event of our own.
// An event is the thread's CPU clock (PERF_COUNT_SW_TASK_CLOCK, a timer that runs while the thread
// does). When the thread has used a period, it copies the thread's registers and the top of its
// stack. Everything ends when our descriptors are closed.
//
// If it is permitted (perf_event_paranoid at most 1, or CAP_PERFMON), the kernel's share of the CPU
// is sampled, too. Otherwise a sample comes when the period has been used in user space, and weighs
// more.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/file_descriptor.h"
#include "sampler/perf/perf_ring.h"

namespace sampan::sampler {

class PerfEvents {
 public:
  struct Options {
    uint32_t rate_hz;
    bool inherit_children;  // new processes too, not new threads alone
    uint64_t unread_ns;     // the rings have room for this long without being read
    // A ring is readable at each sample, and tells when its threads leave the CPU or come to it.
    bool wakes_at_samples = false;
  };
  // Makes the rings. Throws Refused.
  explicit PerfEvents(const Options& options);
  PerfEvents(const PerfEvents&) = delete;
  PerfEvents& operator=(const PerfEvents&) = delete;

  // Samples the thread. Returns 0 or errno: the thread may have ended (ESRCH), descriptors may have
  // run out (EMFILE), the kernel may refuse.
  int open(pid_t tid);
  // The same for a thread that has inherited its events, and lacks a clock of its own only.
  int open_clock(pid_t tid);
  const Options& options() const { return options_; }
  // For events that are opened from now on.
  void wake_at_samples() { options_.wakes_at_samples = true; }
  // Changes the rate, and whether samples wake. Inherited events cannot be changed, so those of all
  // threads are opened anew: begin_change(); prepare() for each thread that has not inherited the new
  // ones already, or give_up(); stop(), after which the rings hold the last records of the old ones;
  // start().
  void begin_change(uint32_t rate_hz, bool wakes_at_samples);
  int prepare(pid_t tid);
  void give_up();
  void stop();
  void start();
  // The thread has ended; another may get its tid. What others inherited from it goes on.
  void retire(pid_t tid);
  // The CPU that a thread has used since its clock was opened; also of one that has ended.
  std::optional<uint64_t> clock_ns(pid_t tid) const;

  struct Ring {
    PerfRing ring;
    int fd;  // readable when it fills
    int cpu;
  };
  std::vector<Ring>& rings() { return rings_; }

  bool samples_kernel() const { return samples_kernel_; }
  // Samples carry the value of their event's clock.
  bool samples_clock() const { return samples_clock_; }

 private:
  struct Opened {
    std::vector<FileDescriptor> events;
    FileDescriptor clock;  // counts; it is not inherited
  };

  struct Unmap {
    size_t size;
    void operator()(void* memory) const;
  };
  using Mapping = std::unique_ptr<void, Unmap>;

  bool open_rings(size_t data_size);
  int open_event(pid_t tid, int cpu, bool disabled);
  int open_events(pid_t tid, bool disabled, std::vector<FileDescriptor>* events);

  Options options_;
  bool samples_kernel_ = true;
  bool samples_clock_ = true;
  std::vector<FileDescriptor> ring_events_;
  std::vector<Mapping> mappings_;
  std::vector<Ring> rings_;  // one per CPU
  std::unordered_map<pid_t, Opened> opened_;
  std::vector<FileDescriptor> retired_;
  Options old_options_{};  // while they are changed
  std::unordered_map<pid_t, std::vector<FileDescriptor>> prepared_;
};

}  // namespace sampan::sampler
