// The drummer: a thread of the collector that sends the sampling signal, at the requested rate, to those threads of the processes
// with the shim that are running just then (wire/drum.h says how it keeps out of their calls). It is the clock above the kernel's
// tick where the kernel refuses perf events.
//
// It asks /proc/PID/task/TID/syscall, or `stat` where that is not permitted, whether a thread runs or waits for a CPU. It follows
// threads that say themselves that they have run, until they have slept for some looks. When all sleep, the beats become rare.
//
// Beats are jittered, so that they lock neither to the kernel's tick nor to a period of the program's.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "base/file_descriptor.h"
#include "base/time.h"
#include "sampler/rings/handshake.h"

namespace sampan::sampler {

class Drummer {
 public:
  // Whether `pid` can be drummed: the kernel shows us its threads under the numbers that it knows itself.
  static bool can_drum(pid_t pid);

  // Up to `tick_hz` nobody wants beats.
  Drummer(uint32_t rate_hz, uint32_t tick_hz);
  ~Drummer();
  Drummer(const Drummer&) = delete;
  Drummer& operator=(const Drummer&) = delete;

  void set_rate(uint32_t rate_hz);
  void add(pid_t pid, std::shared_ptr<SharedMemory> memory);
  void remove(pid_t pid);

 private:
  struct Seat {  // of the thread in a slot
    pid_t tid = 0;
    FileDescriptor state = {};  // the file that says whether it runs
    bool followed = false;
    uint32_t quiet = 0;  // looks since it was seen running
    MonotonicNs sent_ns = 0;
  };
  struct Process {
    pid_t pid;
    std::shared_ptr<SharedMemory> memory;
    std::vector<Seat> seats = {};
    std::vector<uint32_t> followed = {};  // slots whose threads were seen running lately
    uint32_t next_slot = 0;               // the others are looked at in turn
    bool by_stat = false;
  };

  void run();
  bool wait_for_work();
  bool beat(Process& process, MonotonicNs now_ns);
  bool beat(Process& process, uint32_t slot, MonotonicNs now_ns);
  void find_awake(Process& process);
  static bool runs(Process& process, Seat& seat);
  static bool send(Process& process, uint32_t slot, int signo, pid_t tid);
  uint64_t interval_ns();

  const uint32_t tick_hz_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  uint32_t rate_hz_;
  bool stopping_ = false;
  std::map<pid_t, Process> processes_;
  uint64_t beats_ = 0, idle_beats_ = 0;
  std::minstd_rand random_;
  std::thread thread_;  // the last: it uses the others
};

}  // namespace sampan::sampler
