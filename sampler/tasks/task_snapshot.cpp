#include "sampler/tasks/task_snapshot.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <exception>
#include <set>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/text/readable.h"
#include "base/units.h"
#include "sampler/inspect/permission.h"
#include "sampler/process/proc_task.h"
#include "sampler/process/remote_memory.h"
#include "sampler/ptrace/stopped_thread.h"
#include "sampler/recorder/source.h"

namespace sampan::sampler {
namespace {

constexpr int kAttempts = 20;
constexpr uint64_t kLongestRead = 250 * kNsPerMs;
constexpr std::chrono::milliseconds kBetweenAttempts{2};
constexpr int kHighestPriority = -20;

struct Sleeper {
  pid_t tid;
  bool waits_for_lock;
  std::optional<RunTimes> times;
};

class TaskReader {
 public:
  TaskReader(pid_t pid, const PythonInterpreter& interpreter)
      : pid_(pid),
        interpreter_(interpreter),
        section_(find_asyncio_section(pid)),
        threads_(pid, interpreter) {}

  TaskSnapshot read() {
    for (int i = 0; i < kAttempts; ++i) {
      if (i != 0) std::this_thread::sleep_for(kBetweenAttempts);
      if (read_once()) break;
      is_uncertain_ = i + 1 == kAttempts;
    }
    add_problems();
    return std::move(result_);
  }

 private:
  // False: something has changed meanwhile.
  bool read_once() {
    const std::vector<PythonThreadState> threads = threads_.all();
    if (threads.empty() && process_has_ended()) throw Error("process {} has ended", pid_);
    std::deque<StoppedThread> stopped;
    std::vector<Sleeper> sleepers;
    stop(threads, stopped, sleepers);
    const MonotonicNs begin_ns = monotonic_ns();
    ProcessPages memory(
        [this](uint64_t page, std::span<std::byte, ProcessPages::kPageSize> to) {
          return read_process(pid_, Avma::at(page), to.data(), to.size()) == to.size();
        },
        [begin_ns] { return monotonic_ns() - begin_ns < kLongestRead; });
    result_.tasks = read_asyncio_tasks(memory, interpreter_, threads, section_);
    is_cut_ = memory.is_cut();
    const bool same = have_slept(sleepers) && threads_.all() == threads;
    if (!stopped.empty()) result_.stopped_ns += stopped.front().stopped_ns();
    return is_cut_ || (same && !result_.tasks.is_torn);
  }

  bool process_has_ended() const { return thread_ids(pid_).empty(); }

  void stop(const std::vector<PythonThreadState>& threads, std::deque<StoppedThread>& stopped,
            std::vector<Sleeper>& sleepers) {
    pid_t before = 0;
    for (const PythonThreadState& thread : threads) {
      if (thread.tid == before) continue;  // it has several states
      before = thread.tid;
      const std::optional<RunTimes> times = run_times(pid_, thread.tid);
      const std::optional<BlockedCall> call = blocked_call(pid_, thread.tid);
      if (call && !restless_.contains(thread.tid)) {
        sleepers.push_back({thread.tid, call->number == SYS_futex, times});
        continue;
      }
      const int error = stopped.emplace_back(thread.tid).error();
      if (error == 0) continue;
      stopped.pop_back();
      if (error == EPERM) throw Refused(EPERM, "{}", why_ptrace_refused(pid_, EPERM));
      if (error != ESRCH) {
        throw Error("thread {} of process {} could not be stopped: {}", thread.tid, pid_,
                    error == ETIMEDOUT ? "it stayed in the kernel, or without a CPU, for a second"
                                       : std::strerror(error));
      }
    }
  }

  bool have_slept(const std::vector<Sleeper>& sleepers) {
    bool all = true;
    for (const Sleeper& sleeper : sleepers) {
      if (sleeper.times && run_times(pid_, sleeper.tid) == sleeper.times) continue;
      if (sleeper.waits_for_lock) restless_.insert(sleeper.tid);
      all = false;
    }
    return all;
  }

  void add_problems() {
    const AsyncioTasks& tasks = result_.tasks;
    std::vector<std::string>& problems = result_.problems;
    if (!tasks.has_asyncio && tasks.tasks.empty()) {
      problems.push_back("the program has not imported asyncio");
    }
    if (is_cut_) {
      problems.push_back(fmt::format(
          "{} more could not be read within {} ms, for which the program may be stopped",
          plural(tasks.not_read, "task"), kLongestRead / kNsPerMs));
    }
    if (is_uncertain_) {
      problems.push_back(
          "the program ran on each time that its tasks were read: some may be missing, or be shown "
          "at "
          "different moments");
    }
    for (const auto& [type, number] : tasks.unknown) {
      problems.push_back(fmt::format("{} of the type '{}', which sampan does not know, {} left out",
                                     plural(number, "task"), type.empty() ? "?" : printable(type),
                                     number == 1 ? "is" : "are"));
    }
    const auto cut = std::ranges::count_if(tasks.tasks, &AsyncioTask::is_cut);
    if (cut != 0) {
      problems.push_back(fmt::format("not all coroutines of {} can be read",
                                     plural(static_cast<uint64_t>(cut), "task")));
    }
  }

  pid_t pid_;
  const PythonInterpreter& interpreter_;
  const std::optional<AsyncioSection> section_;
  PythonThreads threads_;
  std::set<pid_t> restless_;
  TaskSnapshot result_;
  bool is_cut_ = false;        // of the last attempt
  bool is_uncertain_ = false;  // all attempts failed
};

}  // namespace

TaskSnapshot take_task_snapshot(pid_t pid) {
  demand_reading(pid);
  const std::optional<PythonInterpreter> interpreter = find_python(pid);
  if (!interpreter) throw Error("process {} runs no Python interpreter", pid);
  if (!interpreter->is_known) {
    throw Error(
        "sampan does not know the version of Python that process {} runs: its tasks cannot be read",
        pid);
  }
  // See StoppedThread.
  sigset_t child;
  sigset_t before;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &child, &before);
  TaskSnapshot snapshot;
  std::exception_ptr failure;
  std::thread reader([&] {
    // If that is permitted: while threads are stopped for us, we should not wait for a CPU.
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kHighestPriority);
    try {
      snapshot = TaskReader(pid, *interpreter).read();
    } catch (...) {
      failure = std::current_exception();
    }
  });
  reader.join();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (failure) std::rethrow_exception(failure);
  return snapshot;
}

}  // namespace sampan::sampler
