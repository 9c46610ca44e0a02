// The thread that traces: seizes the threads of processes, stops them for microseconds to copy
// registers and stack, and lets them go on. What it saw is queued for another thread to walk.
//
// It is a thread of its own because of how the kernel lets go of what is traced. A tracer that asks
// for it must stop each thread first, and to stop one that sleeps ends its system call with EINTR.
// A tracer that ends, or is killed, just lets go. And it waits in wait4, the shortest way to a
// stop.
//
// A thread is sampled when its timer (remote_timers.h) has sent it the signal. One without a timer,
// or that blocks the signal, is polled: when it runs at the moment, it is interrupted. Should it
// have gone to sleep in between, its system call is begun again, so that it never fails with EINTR.
//
// Only ptrace(2)'s rules matter here: after PTRACE_SEIZE, stops are told apart as in "Group-stop".
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "attach/remote_timers.h"
#include "attach/schedstat_file.h"
#include "attach/trace_event.h"
#include "sampler/file_descriptor.h"

namespace sampan::attach {

class Tracer {
 public:
  struct Options {
    uint64_t period_ns;  // at first
    bool follow;
    bool timers;  // else all threads are polled
  };
  explicit Tracer(const Options& options);
  ~Tracer();  // takes the timers away, then lets go of everything
  Tracer(const Tracer&) = delete;

  // Seizes all threads of the process. Returns 0 or an errno.
  int attach(pid_t pid);

  // Readable when there are events.
  int fd() const { return ready_.get(); }
  std::vector<TraceEvent> take();
  // The threads follow, those with timers at their next sample.
  void set_period(uint64_t period_ns) { asked_period_ns_ = period_ns; }
  // A walk came to the end of a copied stack: copy more from now on.
  void copy_more();
  // Threads that are sampled by polling; valid at any time.
  size_t polled() const { return polled_.load(std::memory_order_relaxed); }

 private:
  struct Tracee {
    Tracee(pid_t process, pid_t thread) : pid(process), run_times(process, thread) {}
    pid_t pid;
    SchedstatFile run_times;
    bool interrupted = false;     // by us, and not stopped yet
    bool signal_blocked = false;  // ours
    uint64_t turns = 0;           // of its run times, at the last look
    uint64_t next_look_ns = 0;
    uint64_t look_interval_ns = 0;
    uint64_t sampled_cpu_ns = 0;  // its CPU clock at its last sample
  };
  struct Process {
    std::unique_ptr<RemoteTimers> timers;
    size_t threads = 0;
  };

  void run();
  void run_command();
  void follow_period();
  int seize(pid_t pid);
  int seize_thread(pid_t pid, pid_t tid);
  void wait_once();
  void on_alarm();
  void set_alarm(uint64_t interval_ns);
  void poll(pid_t tid, Tracee& tracee, uint64_t now_ns);
  void check_signal_mask(pid_t tid, Tracee& tracee);
  bool is_polled(const Tracee& tracee, pid_t tid) const;

  void on_stop(pid_t tid, int status);
  void on_signal(pid_t tid, Tracee& tracee, int signal);
  void on_ptrace_stop(pid_t tid, Tracee& tracee, int signal);
  void on_exec(pid_t tid);
  void on_end(pid_t tid, std::optional<int> status);
  Tracee* adopt(pid_t tid);
  void begin_process(pid_t pid);
  void sample(pid_t tid, Tracee& tracee, int signal_to_pass);
  void resume(pid_t tid, int signal = 0);
  void stay_near(pid_t tid);
  void leave();

  void push(TraceEvent&& event);
  TraceEvent event(TraceEvent::Kind kind, pid_t pid, pid_t tid) const;
  Process& process_of(const Tracee& tracee) { return processes_.at(tracee.pid); }

  const Options options_;
  sampler::FileDescriptor ready_;
  std::atomic<size_t> copy_size_;
  std::atomic<size_t> polled_ = 0;
  std::atomic<uint64_t> asked_period_ns_;

  // Of the tracing thread.
  uint64_t period_ns_;
  std::vector<std::byte> stack_;  // room for a copy, made while no thread waits for it
  std::unordered_map<pid_t, Tracee> tracees_;
  std::unordered_map<pid_t, Process> processes_;
  timer_t alarm_{};
  uint64_t alarm_interval_ns_ = 0;
  uint64_t next_mask_check_ns_ = 0;
  bool leaving_ = false;
  size_t cpu_ = SIZE_MAX;  // that we stay on

  std::mutex mutex_;
  std::condition_variable answered_;
  std::vector<TraceEvent> events_;
  size_t queued_bytes_ = 0;
  pid_t command_ = 0;  // to attach; 0: none
  int answer_ = 0;
  bool stop_ = false;

  std::thread thread_;  // the last: it uses the others
};

}  // namespace sampan::attach
