// The tracing thread: seizes the threads of processes, stops them for microseconds to copy
// registers and stack, and lets them go on. The copies are queued for another thread, which walks
// them.
//
// Tracing has a thread of its own because of how the kernel detaches. A tracer that asks to detach
// must stop each thread first, and that ends the system call of a thread that sleeps with EINTR.
// When a tracer ends or is killed, its threads are just released. The tracing thread waits in
// wait4, the fastest way to notice a stop.
//
// A thread is sampled when its timer (remote_timers.h) has sent it the signal. A thread that has no
// timer, or blocks the signal, is polled: if it runs at the moment, it is interrupted. If it went
// to sleep in between, its system call is begun again, so that it never fails with EINTR.
//
// Stops are told apart as described in ptrace(2), "Group-stop", for PTRACE_SEIZE.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/file_descriptor.h"
#include "base/time.h"
#include "sampler/process/cpu_accounting.h"
#include "sampler/process/proc_task.h"
#include "sampler/process/python_capture.h"
#include "sampler/ptrace/remote_timers.h"
#include "unwind/registers.h"

namespace sampan::sampler {

// What a Tracer has seen. Events are in the order in which they happened.
struct TraceEvent {
  enum class Kind {
    kThreadBegan,
    kThreadEnded,
    kSample,
    kExecuted,      // the process is another program, with the one thread `tid`
    kProcessEnded,  // the tracer has reaped its leader
    kSampleLost,
    kThreadLost,  // some thread could not be attached
  };
  Kind kind;
  pid_t pid;
  pid_t tid;
  MonotonicNs time_ns;
  std::optional<CpuNs> cpu_ns;
  ExitState exit;               // of kProcessEnded
  unwind::Registers registers;  // of kSample, and the stack from the red zone of its sp on
  std::vector<std::byte> stack;
  CapturedPython python;  // of kSample, with `stack`
};

class Tracer {
 public:
  struct Options {
    uint64_t period_ns;  // at first
    bool follow;
    bool timers;  // false: all threads are polled
  };
  explicit Tracer(const Options& options);
  ~Tracer();  // deletes the timers, then detaches
  Tracer(const Tracer&) = delete;

  // Seizes all threads of the process. Returns 0 or an errno; EAGAIN, too, when the tracing thread
  // gets no timer (RLIMIT_SIGPENDING).
  int attach(pid_t pid);

  // Readable when there are events.
  int fd() const { return ready_.get(); }
  std::vector<TraceEvent> take();
  // Threads with timers follow at their next sample.
  void set_period(uint64_t period_ns) { asked_period_ns_ = period_ns; }
  // The Python frames of the process are captured from now on; null: none are.
  void set_python(pid_t pid, std::shared_ptr<const PythonInterpreter> interpreter);
  // A walk reached the end of a copied stack: copies are larger from now on.
  void copy_more();
  // How many threads are polled.
  size_t polled() const { return polled_.load(std::memory_order_relaxed); }

 private:
  struct Tracee {
    Tracee(pid_t process, pid_t thread) : pid(process), run_times(process, thread) {}
    pid_t pid;
    SchedstatFile run_times;
    bool interrupted = false;     // we have asked it to stop, and it has not stopped yet
    bool signal_blocked = false;  // it blocks our timers' signal
    uint64_t turns = 0;           // of its run times, at the last look
    MonotonicNs next_look_ns = 0;
    uint64_t look_interval_ns = 0;
    CpuNs sampled_cpu_ns = 0;  // its CPU clock at its last sample
  };
  struct Process {
    std::unique_ptr<RemoteTimers> timers;
    std::unique_ptr<PythonCapture> python;  // null: it has none
    size_t threads = 0;
  };

  void run();
  void run_command();
  void follow_period();
  void follow_interpreters();
  int seize(pid_t pid);
  int seize_thread(pid_t pid, pid_t tid);
  void wait_once();
  void on_alarm();
  void set_alarm(uint64_t interval_ns);
  void poll(pid_t tid, Tracee& tracee, MonotonicNs now_ns);
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
  FileDescriptor ready_;
  std::atomic<size_t> copy_size_;
  std::atomic<size_t> polled_ = 0;
  std::atomic<uint64_t> asked_period_ns_;

  // Used by the tracing thread only.
  uint64_t period_ns_;
  // Room for copies, made while no thread waits for it.
  std::vector<std::byte> stack_;
  CapturedPython captured_;
  std::unordered_map<pid_t, Tracee> tracees_;
  std::unordered_map<pid_t, Process> processes_;
  timer_t alarm_{};
  uint64_t alarm_interval_ns_ = 0;
  MonotonicNs next_mask_check_ns_ = 0;
  bool leaving_ = false;
  size_t cpu_ = SIZE_MAX;  // that the tracing thread is bound to

  std::mutex mutex_;
  std::condition_variable answered_;
  std::vector<TraceEvent> events_;
  size_t queued_bytes_ = 0;
  std::unordered_map<pid_t, std::shared_ptr<const PythonInterpreter>> interpreters_;  // to be taken
  pid_t command_ = 0;  // to attach; 0: none
  int answer_ = 0;
  int failure_ = 0;  // errno: the tracing thread could not begin
  bool stop_ = false;

  std::thread thread_;  // the last: it uses the others
};

}  // namespace sampan::sampler
