// The perf events of an attach: what is opened, and the rings that it goes into.
//
// Each thread has one event per CPU, since only such events can be inherited by the threads that it
// makes, and share a ring: one per CPU, of an event of our own. An event is the thread's CPU clock
// (PERF_COUNT_SW_TASK_CLOCK, a timer that runs while the thread does) and copies its registers and
// the top of its stack when it has used a period. All ends with our descriptors.
//
// The kernel's share of the CPU is sampled too where we may (perf_event_paranoid at most 1, or
// CAP_PERFMON); else a sample comes when the period has been used in user space, and weighs more.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "attach/perf_ring.h"
#include "sampler/file_descriptor.h"

namespace sampan::attach {

class PerfEvents {
 public:
  struct Options {
    uint32_t rate_hz;
    bool inherit_children;  // new processes too, not new threads alone
    uint64_t unread_ns;     // for so long the rings have room while nobody reads them
  };
  // Makes the rings. Throws Refused.
  explicit PerfEvents(const Options& options);
  ~PerfEvents();
  PerfEvents(const PerfEvents&) = delete;
  PerfEvents& operator=(const PerfEvents&) = delete;

  // 0, or errno: the thread may have gone (ESRCH), descriptors may have run out (EMFILE), the
  // kernel may refuse.
  int open(pid_t tid);
  // The same for a thread that has inherited its events: a clock of its own is all that it lacks.
  int open_clock(pid_t tid);
  // Another rate. Events that were inherited cannot be changed, so those of all threads are made
  // anew: begin_change(); prepare() each thread that has not inherited the new ones already, or
  // give_up(); stop(), and what the rings hold then is all that there is of the old ones; start().
  void begin_change(uint32_t rate_hz);
  int prepare(pid_t tid);
  void give_up();
  void stop();
  void start();
  // The thread has ended; another may get its number. What others inherited from it goes on.
  void retire(pid_t tid);
  // The CPU that a thread has used since its clock was opened; of one that has ended, all of it.
  std::optional<uint64_t> clock_ns(pid_t tid) const;

  struct Ring {
    PerfRing ring;
    int fd;  // readable when it fills
  };
  std::vector<Ring>& rings() { return rings_; }

  bool samples_kernel() const { return samples_kernel_; }
  // Samples carry the value of their event's clock.
  bool samples_clock() const { return samples_clock_; }

 private:
  struct Opened {
    std::vector<sampler::FileDescriptor> events;
    sampler::FileDescriptor clock;  // counts, and is inherited by nobody
  };

  bool open_rings(size_t data_size);
  int open_event(pid_t tid, int cpu, bool disabled);
  int open_events(pid_t tid, bool disabled, std::vector<sampler::FileDescriptor>* events);

  Options options_;
  bool samples_kernel_ = true;
  bool samples_clock_ = true;
  std::vector<sampler::FileDescriptor> ring_events_;
  std::vector<std::span<uint8_t>> mappings_;
  std::vector<int> cpus_;
  std::vector<Ring> rings_;  // one per CPU
  std::unordered_map<pid_t, Opened> opened_;
  std::vector<sampler::FileDescriptor> retired_;
  uint32_t old_rate_hz_ = 0;  // while it is changed
  std::unordered_map<pid_t, std::vector<sampler::FileDescriptor>> prepared_;
};

}  // namespace sampan::attach
