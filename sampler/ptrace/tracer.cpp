#include "sampler/ptrace/tracer.h"

#include <linux/kcmp.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "sampler/process/proc_task.h"
#include "sampler/process/proc_text.h"
#include "sampler/process/remote_memory.h"
#include "sampler/ptrace/call_restart.h"
#include "sampler/ptrace/user_registers.h"

namespace sampan::sampler {
namespace {

// Ends a wait of the tracing thread. It is ignored by default, so other threads need not care.
constexpr int kAlarm = SIGURG;
constexpr uint64_t kSlowAlarm = 10 * kNsPerMs;
constexpr uint64_t kLongestLookInterval = 100 * kNsPerMs;
constexpr uint64_t kMaskInterval = 500 * kNsPerMs;
// How long to wait for a thread to run, which can delete the timers; and if one wants to run, but gets
// no CPU.
constexpr uint64_t kLeaveTimeout = 300 * kNsPerMs, kLongestLeave = 5 * kNsPerSecond;
constexpr size_t kFirstCopy = 256 * 1024, kLargestCopy = 1024 * 1024;
constexpr size_t kMostQueuedBytes = 256 * 1024 * 1024;
constexpr int kMostScans = 16;

// Whether it is a child of vfork, which writes to its parent's memory.
bool shares_memory_with_parent(pid_t pid) {
  const auto status = process_status(pid);
  return status && syscall(SYS_kcmp, pid, status->parent_pid, KCMP_VM, 0, 0) == 0;
}

}  // namespace

Tracer::Tracer(const Options& options)
    : options_(options),
      ready_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      copy_size_(kFirstCopy),
      asked_period_ns_(options.period_ns),
      period_ns_(options.period_ns),
      stack_(kFirstCopy) {
  if (!ready_) throw Error("tracing: eventfd: {}", std::strerror(errno));
  struct sigaction action {};
  action.sa_handler = [](int) {};  // without SA_RESTART: the wait ends
  sigaction(kAlarm, &action, nullptr);
  thread_ = std::thread([this] { run(); });
}

Tracer::~Tracer() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  thread_.join();
}

int Tracer::attach(pid_t pid) {
  std::unique_lock lock(mutex_);
  command_ = pid;
  answered_.wait(lock, [this] { return command_ == 0 || failure_ != 0; });
  return failure_ != 0 ? failure_ : answer_;
}

std::vector<TraceEvent> Tracer::take() {
  uint64_t count = 0;
  (void)!read(ready_.get(), &count, sizeof count);
  const std::lock_guard lock(mutex_);
  queued_bytes_ = 0;
  return std::exchange(events_, {});
}

void Tracer::set_python(pid_t pid, std::shared_ptr<const PythonInterpreter> interpreter) {
  const std::lock_guard lock(mutex_);
  interpreters_[pid] = std::move(interpreter);
}

void Tracer::copy_more() {
  copy_size_ = std::min(2 * copy_size_.load(), kLargestCopy);
}

TraceEvent Tracer::event(TraceEvent::Kind kind, pid_t pid, pid_t tid) const {
  TraceEvent event{};
  event.kind = kind;
  event.pid = pid;
  event.tid = tid;
  event.time_ns = monotonic_ns();
  return event;
}

void Tracer::push(TraceEvent&& event) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = events_.empty();
    if (queued_bytes_ > kMostQueuedBytes && event.kind == TraceEvent::Kind::kSample) {
      event.kind = TraceEvent::Kind::kSampleLost;
      event.stack.clear();
      event.python = {};
      const auto process = processes_.find(event.pid);
      if (process != processes_.end() && process->second.python) {
        process->second.python->forget_texts();
      }
    }
    queued_bytes_ += event.stack.size() + event.python.memory.size();
    events_.push_back(std::move(event));
  }
  const uint64_t one = 1;
  if (first) (void)!write(ready_.get(), &one, sizeof one);
}

// --- the tracing thread ---

void Tracer::run() {
  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, kAlarm);
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  pthread_sigmask(SIG_UNBLOCK, &alarm, nullptr);
  pthread_setname_np(pthread_self(), "tracer");
  sigevent wake{};
  wake.sigev_notify = SIGEV_THREAD_ID;
  wake.sigev_signo = kAlarm;
  wake._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
  if (timer_create(CLOCK_MONOTONIC, &wake, &alarm_) != 0) {
    const std::lock_guard lock(mutex_);
    failure_ = errno;
    answered_.notify_all();
    return;
  }
  set_alarm(kSlowAlarm);
  while (true) {
    follow_interpreters();
    run_command();
    follow_period();
    {
      const std::lock_guard lock(mutex_);
      if (stop_) break;
    }
    wait_once();
  }
  leave();
  timer_delete(alarm_);
}

void Tracer::set_alarm(uint64_t interval_ns) {
  if (interval_ns == alarm_interval_ns_) return;
  alarm_interval_ns_ = interval_ns;
  const timespec interval{static_cast<time_t>(interval_ns / 1'000'000'000),
                          static_cast<long>(interval_ns % 1'000'000'000)};
  const itimerspec spec{interval, interval};
  timer_settime(alarm_, 0, &spec, nullptr);
}

void Tracer::run_command() {
  std::unique_lock lock(mutex_);
  if (command_ == 0) return;
  const pid_t pid = command_;
  lock.unlock();
  const int answer = seize(pid);
  lock.lock();
  answer_ = answer;
  command_ = 0;
  answered_.notify_all();
}

void Tracer::follow_period() {
  const uint64_t asked_ns = asked_period_ns_.load(std::memory_order_relaxed);
  if (asked_ns == period_ns_) return;
  period_ns_ = asked_ns;
  for (auto& [pid, process] : processes_) process.timers->set_period(period_ns_);
  for (auto& [tid, tracee] : tracees_) {
    tracee.next_look_ns = std::min(tracee.next_look_ns, monotonic_ns() + period_ns_);
  }
}

// One that is not traced yet, or any more, is left alone.
void Tracer::follow_interpreters() {
  const std::lock_guard lock(mutex_);
  for (auto& [pid, process] : processes_) {
    const auto found = interpreters_.find(pid);
    if (found == interpreters_.end()) continue;
    process.python = found->second != nullptr
                         ? std::make_unique<PythonCapture>(pid, std::move(found->second))
                         : nullptr;
    interpreters_.erase(found);
  }
}

// Waits for one stop, one end, or one alarm.
void Tracer::wait_once() {
  int status = 0;
  const pid_t tid = wait4(-1, &status, __WALL | __WNOTHREAD, nullptr);
  if (tid > 0) return on_stop(tid, status);
  if (errno == ECHILD) {
    const timespec pause{0, static_cast<long>(kSlowAlarm)};
    nanosleep(&pause, nullptr);  // the alarm ends it
  }
  on_alarm();
}

int Tracer::seize(pid_t pid) {
  begin_process(pid);
  int error = 0;
  bool any = false;
  for (int scan = 0; scan < kMostScans; ++scan) {
    bool found_new = false;
    for (const pid_t tid : thread_ids(pid)) {
      if (tracees_.contains(tid)) continue;
      const int result = seize_thread(pid, tid);
      if (result == 0) {
        any = found_new = true;
      } else if (result != ESRCH) {
        error = result;
      }
    }
    if (!found_new) break;
  }
  if (!any && !tracees_.contains(pid)) {
    processes_.erase(pid);
    return error != 0 ? error : ESRCH;
  }
  if (error != 0) push(event(TraceEvent::Kind::kThreadLost, pid, 0));
  return 0;
}

int Tracer::seize_thread(pid_t pid, pid_t tid) {
  // A thread that exits stops once more, so that its CPU can be read. Never PTRACE_O_EXITKILL.
  long options = PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT;
  if (options_.follow) options |= PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
  if (ptrace(PTRACE_SEIZE, tid, 0, options) != 0) {
    // A leader that has ended stays a zombie until its threads have ended; it cannot be sampled.
    return errno == EPERM && thread_state(pid, tid) == 'Z' ? ESRCH : errno;
  }
  Tracee& tracee = tracees_.try_emplace(tid, pid, tid).first->second;
  Process& process = processes_.at(pid);
  ++process.threads;
  process.timers->want(tid);
  check_signal_mask(tid, tracee);
  TraceEvent began = event(TraceEvent::Kind::kThreadBegan, pid, tid);
  if (const auto times = tracee.run_times.read()) {
    began.cpu_ns = tracee.sampled_cpu_ns = times->cpu_ns;
  }
  push(std::move(began));
  return 0;
}

void Tracer::begin_process(pid_t pid) {
  Process& process = processes_[pid];
  if (process.timers) return;
  process.timers = std::make_unique<RemoteTimers>(pid, period_ns_);
  if (!options_.timers || shares_memory_with_parent(pid)) process.timers->give_up();
}

bool Tracer::is_polled(const Tracee& tracee, pid_t tid) const {
  return tracee.signal_blocked || !processes_.at(tracee.pid).timers->has(tid);
}

void Tracer::check_signal_mask(pid_t tid, Tracee& tracee) {
  const int signal = process_of(tracee).timers->signal();
  if (signal == 0) return;
  const auto status = read_whole("/proc/" + std::to_string(tracee.pid) + "/task/" +
                                 std::to_string(tid) + "/status");
  std::string_view line = line_after(status ? *status : std::string_view(), "SigBlk:");
  const bool was_blocked = tracee.signal_blocked;
  tracee.signal_blocked = (take_number(line, 16) >> (signal - 1) & 1) != 0;
  // A blocked signal would stay pending, and the thread would take it by sigwait or signalfd.
  if (tracee.signal_blocked) {
    process_of(tracee).timers->forget(tid);
  } else if (was_blocked && !leaving_) {
    process_of(tracee).timers->want(tid);
  }
}

void Tracer::on_alarm() {
  const MonotonicNs now = monotonic_ns();
  const bool check_masks = now >= next_mask_check_ns_;
  if (check_masks) next_mask_check_ns_ = now + kMaskInterval;
  size_t polled = 0;
  MonotonicNs next_look = now + kSlowAlarm;
  for (auto& [tid, tracee] : tracees_) {
    if (check_masks) {
      // A thread that ran, but was not stopped by its timer, may block the signal by now.
      const auto times = tracee.run_times.read();
      if (times && times->cpu_ns > tracee.sampled_cpu_ns + 2 * period_ns_) {
        check_signal_mask(tid, tracee);
      }
    }
    if (!is_polled(tracee, tid)) continue;
    ++polled;
    if (now + kNsPerMs / 4 >= tracee.next_look_ns) poll(tid, tracee, now);
    next_look = std::min(next_look, tracee.next_look_ns);
  }
  polled_.store(polled, std::memory_order_relaxed);
  set_alarm(std::clamp(next_look.since(now), period_ns_ / 2, std::max(kSlowAlarm, period_ns_ / 2)));
}

void Tracer::poll(pid_t tid, Tracee& tracee, MonotonicNs now_ns) {
  const auto times = tracee.run_times.read();
  const bool moved = times && times->cpu_ns + times->turns != tracee.turns;
  if (times) tracee.turns = times->cpu_ns + times->turns;
  tracee.look_interval_ns = moved ? period_ns_
                                  : std::min(2 * std::max(tracee.look_interval_ns, period_ns_),
                                             std::max(kLongestLookInterval, period_ns_));
  tracee.next_look_ns = now_ns + tracee.look_interval_ns;
  // A thread that waits for a CPU is in state R, too, but has used nothing since its last sample.
  const bool due = times && times->cpu_ns >= tracee.sampled_cpu_ns + period_ns_ * 3 / 4;
  if (!due || tracee.interrupted || thread_state(tracee.pid, tid) != 'R') return;
  tracee.next_look_ns = now_ns + period_ns_;
  tracee.interrupted = ptrace(PTRACE_INTERRUPT, tid, 0, 0) == 0;
}

void Tracer::resume(pid_t tid, int signal) {
  ptrace(PTRACE_CONT, tid, 0, signal);  // fails if it was killed meanwhile: wait4 will say so
}

void Tracer::on_stop(pid_t tid, int status) {
  if (!WIFSTOPPED(status)) return on_end(tid, status);
  const auto found = tracees_.find(tid);
  Tracee* const tracee = found != tracees_.end() ? &found->second : adopt(tid);
  const int signal = WSTOPSIG(status);
  switch (status >> 16) {
    case 0:
      if (tracee == nullptr) return resume(tid, signal);
      return on_signal(tid, *tracee, signal);
    case PTRACE_EVENT_STOP:
      if (tracee != nullptr) return on_ptrace_stop(tid, *tracee, signal);
      // The first thread of a process that is not followed.
      ptrace(PTRACE_DETACH, tid, 0, 0);
      return;
    case PTRACE_EVENT_EXEC: return on_exec(tid);
    case PTRACE_EVENT_EXIT: return on_end(tid, std::nullopt);
    default: return resume(tid);  // clone, fork: the new thread stops by itself
  }
}

void Tracer::on_signal(pid_t tid, Tracee& tracee, int signal) {
  RemoteTimers& timers = *process_of(tracee).timers;
  if (signal != timers.signal()) return resume(tid, signal);
  siginfo_t info;
  if (ptrace(PTRACE_GETSIGINFO, tid, 0, &info) != 0) return;  // killed
  if (!timers.is_ours(info)) return resume(tid, signal);
  if (timers.is_at_work(tid) || info.si_code != SI_TIMER) return resume(tid);
  sample(tid, tracee, 0);
}

void Tracer::on_ptrace_stop(pid_t tid, Tracee& tracee, int signal) {
  if (signal != SIGTRAP) {
    // A group-stop (job control): it stays stopped until SIGCONT.
    ptrace(PTRACE_LISTEN, tid, 0, 0);
    return;
  }
  const bool polled = std::exchange(tracee.interrupted, false);
  RemoteTimers& timers = *process_of(tracee).timers;
  if (timers.is_at_work(tid)) return resume(tid);
  if (polled) return sample(tid, tracee, 0);
  if (timers.work_to_do()) {
    user_regs_struct regs;
    if (ptrace(PTRACE_GETREGS, tid, 0, &regs) == 0) timers.begin(tid, regs);
  }
  resume(tid);
}

// The thread is stopped meanwhile: what can be done later is done after it goes on.
void Tracer::sample(pid_t tid, Tracee& tracee, int signal_to_pass) {
  user_regs_struct regs;
  if (ptrace(PTRACE_GETREGS, tid, 0, &regs) != 0) return;
  TraceEvent sample = event(TraceEvent::Kind::kSample, tracee.pid, tid);
  const size_t copied = read_stack(tid, Avma::at(regs.rsp), stack_);
  sample.registers = registers_of(regs);
  Process& process = process_of(tracee);
  if (process.python != nullptr) {
    const Avma low = Avma::at(regs.rsp - kRedZone);
    process.python->capture(tid, low, std::span(stack_).first(copied), captured_);
  }
  RemoteTimers& timers = *process.timers;
  if (must_begin_again(regs)) begin_again(tid);
  if (timers.work_to_do()) timers.begin(tid, regs);
  resume(tid, signal_to_pass);
  stay_near(tid);

  sample.stack.assign(stack_.begin(), stack_.begin() + copied);
  if (process.python != nullptr && !captured_.states.empty()) sample.python = captured_;
  stack_.resize(copy_size_.load(std::memory_order_relaxed));
  if (const auto times = tracee.run_times.read()) {
    sample.cpu_ns = times->cpu_ns;
    tracee.sampled_cpu_ns = times->cpu_ns;
  }
  push(std::move(sample));
}

// Moves to the CPU of the thread that was stopped last. A stop wakes us, preferably on an idle CPU,
// and to wake an idle CPU can take longer than all that we do with the thread. In a virtual machine
// this reduced stops from 109 us to 41 us.
void Tracer::stay_near(pid_t tid) {
  constexpr int kProcessorField = 39, kFirstFieldBehindName = 3;  // proc_pid_stat(5)
  const auto stat = read_whole("/proc/" + std::to_string(tid) + "/stat");
  std::string_view rest = stat ? *stat : std::string_view();
  rest.remove_prefix(std::min(rest.rfind(')') + 1, rest.size()));  // npos + 1 is 0
  for (int field = kFirstFieldBehindName; field < kProcessorField; ++field) take_word(rest);
  if (rest.empty()) return;
  const auto cpu = static_cast<size_t>(take_number(rest));
  if (cpu == cpu_ || cpu >= CPU_SETSIZE) return;
  cpu_ = cpu;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

// Takes over a thread, or a process, that a tracee has made.
Tracer::Tracee* Tracer::adopt(pid_t tid) {
  const pid_t pid = process_of_thread(tid);
  if (pid == 0) return nullptr;
  if (!processes_.contains(pid)) {
    if (!options_.follow || pid != tid) return nullptr;
    begin_process(pid);
  }
  Tracee& tracee = tracees_.try_emplace(tid, pid, tid).first->second;
  Process& process = processes_.at(pid);
  ++process.threads;
  if (!leaving_) process.timers->want(tid);
  TraceEvent began = event(TraceEvent::Kind::kThreadBegan, pid, tid);
  began.cpu_ns = CpuNs();
  push(std::move(began));
  return &tracee;
}

// All threads but one have ended, and this one has the tid of the first now.
void Tracer::on_exec(pid_t tid) {
  const auto found = tracees_.find(tid);
  const pid_t pid = found != tracees_.end() ? found->second.pid : process_of_thread(tid);
  std::erase_if(tracees_, [pid](const auto& entry) { return entry.second.pid == pid; });
  processes_.erase(pid);
  begin_process(pid);
  Tracee& tracee = tracees_.try_emplace(tid, pid, tid).first->second;
  processes_.at(pid).threads = 1;
  if (!leaving_) processes_.at(pid).timers->want(tid);
  check_signal_mask(tid, tracee);
  TraceEvent executed = event(TraceEvent::Kind::kExecuted, pid, tid);
  if (const auto times = tracee.run_times.read()) executed.cpu_ns = times->cpu_ns;
  push(std::move(executed));
  resume(tid);
}

// `status`: of a thread that is gone; nothing for one that is about to exit, which is detached.
void Tracer::on_end(pid_t tid, std::optional<int> status) {
  const auto found = tracees_.find(tid);
  if (found != tracees_.end()) {
    const pid_t pid = found->second.pid;
    TraceEvent ended = event(TraceEvent::Kind::kThreadEnded, pid, tid);
    if (const auto times = found->second.run_times.read()) ended.cpu_ns = times->cpu_ns;
    push(std::move(ended));
    tracees_.erase(found);
    Process& process = processes_.at(pid);
    process.timers->thread_ended(tid);
    if (--process.threads == 0) processes_.erase(pid);
    if (status && tid == pid) {
      TraceEvent over = event(TraceEvent::Kind::kProcessEnded, pid, tid);
      over.exit = from_wait_status(*status);
      push(std::move(over));
    }
  }
  if (!status) ptrace(PTRACE_DETACH, tid, 0, 0);
}

// The next thread that runs deletes the timers. If none runs in time, timers stay, and the kernel
// drops their signals when they expire.
void Tracer::leave() {
  leaving_ = true;
  const MonotonicNs begin = monotonic_ns();
  for (auto& [pid, process] : processes_) process.timers->forget_all();
  const auto unfinished = [](const auto& entry) { return entry.second.timers->unfinished(); };
  const auto wants_to_run = [](const auto& entry) {
    return thread_state(entry.second.pid, entry.first) == 'R';
  };
  while (std::ranges::any_of(processes_, unfinished)) {
    const uint64_t waited = monotonic_ns().since(begin);
    const bool is_late = waited >= kLeaveTimeout && std::ranges::none_of(tracees_, wants_to_run);
    if (is_late || waited >= kLongestLeave) break;
    wait_once();
  }
}

}  // namespace sampan::sampler
