#include "sampler/inspect/snapshot.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "sampler/inspect/permission.h"
#include "sampler/process/gdb_jit.h"
#include "sampler/process/memory_map.h"
#include "sampler/process/process_modules.h"
#include "sampler/process/remote_walker.h"
#include "sampler/ptrace/stopped_thread.h"
#include "sampler/recorder/python_reader.h"
#include "sampler/recorder/python_thread_names.h"
#include "wire/deep_stack.h"
#include "wire/record.h"

namespace sampan::sampler {
namespace {

constexpr size_t kUnknownStack = size_t{64} << 10;
// For a thread that waits; what lies beyond is read when it is needed.
constexpr size_t kCopiedWaiting = size_t{256} << 10;
constexpr size_t kCopiedRunning = size_t{1} << 20;
constexpr int kHighestPriority = -20;
constexpr int kAttempts = 20;  // for a thread that keeps waking up and going to sleep

class SnapshotTaker {
 public:
  explicit SnapshotTaker(pid_t pid)
      : pid_(pid),
        modules_(pid),
        map_(read_memory_map(pid)),
        reasons_(pid),
        python_(pid),
        frames_(wire::kMaxFrames) {
    native_.frames.resize(wire::kMaxFrames);
    native_.cfas.resize(wire::kMaxFrames);
  }

  Snapshot take(const std::function<bool(pid_t, const std::string&)>& wanted);

 private:
  void find_modules(Snapshot& snapshot);
  void name_code(Snapshot& snapshot);
  void look_well(ThreadSnapshot& thread, Snapshot& snapshot);
  void look(ThreadSnapshot& thread);
  bool look_at_waiting(ThreadSnapshot& thread);
  bool look_at_running(ThreadSnapshot& thread);
  std::string why_not_stopped(int error) const;
  void capture_python(pid_t tid) {
    python_.capture(tid, memory_.low(), memory_.bytes(), captured_);
  }
  void keep(ThreadSnapshot& thread);
  size_t stack_size(Avma sp, size_t most) const;

  pid_t pid_;
  ProcessModules modules_;
  std::vector<MappedRange> map_;
  WaitReasons reasons_;
  RemoteMemory memory_;
  PythonReader python_;
  CapturedPython captured_;
  NativeWalk native_;
  std::vector<uint64_t> frames_;
  std::optional<RemoteWalker> walker_;
  uint64_t stopped_ns_ = 0;
};

Snapshot SnapshotTaker::take(const std::function<bool(pid_t, const std::string&)>& wanted) {
  demand_reading(pid_);
  Snapshot snapshot;
  find_modules(snapshot);
  python_.look();
  snapshot.has_unknown_python = python_.is_unknown();
  walker_.emplace(modules_);
  PythonThreadNames python_names(pid_);
  python_names.use(python_.interpreter());
  for (const pid_t tid : thread_ids(pid_)) {
    const auto in_kernel = thread_name(pid_, tid);
    if (!in_kernel) continue;
    const std::string name = python_names.name_of(tid, *in_kernel);
    ThreadSnapshot thread{tid, name, 'S', {}, {}, wire::StopReason::kNoRule, "", true};
    thread.wanted = wanted(tid, name);
    snapshot.names.emplace(tid, name);
    snapshot.threads.push_back(std::move(thread));
  }
  if (snapshot.threads.empty()) throw Error("process {} has ended", pid_);
  // See StoppedThread.
  sigset_t child;
  sigset_t before;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &child, &before);
  std::thread looker([&] {
    // If that is permitted: while a thread is stopped for us, we should not wait for a CPU.
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kHighestPriority);
    for (ThreadSnapshot& thread : snapshot.threads) {
      if (thread.wanted) look_well(thread, snapshot);
    }
  });
  looker.join();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  for (PythonCodeRecord& code : python_.take_new_codes()) snapshot.python.add(std::move(code));
  snapshot.deadlocks = find_deadlocks(pid_);
  snapshot.stopped_ns = stopped_ns_;
  name_code(snapshot);
  return snapshot;
}

void SnapshotTaker::name_code(Snapshot& snapshot) {
  std::set<uint64_t> unknown;
  unwind::Module module;
  for (const ThreadSnapshot& thread : snapshot.threads) {
    for (const uint64_t frame : thread.frames) {
      if (wire::is_python_frame(frame) || wire::is_no_code(frame)) continue;
      if (!modules_.find(frame, module)) unknown.insert(frame);
    }
  }
  if (unknown.empty()) return;
  GdbJit jit(pid_);
  jit.find_descriptors();
  const std::optional<GdbJit::Look> look = jit.look(monotonic_ns());
  if (!look) return;
  for (const uint64_t frame : unknown) {
    for (const auto& code : look->code) {
      const RegisteredCode::Function* const function = code->find(Avma::at(frame));
      if (function != nullptr) snapshot.code_names.try_emplace(frame, function->name);
    }
  }
}

void SnapshotTaker::find_modules(Snapshot& snapshot) {
  ProcessModules::Changes changes = modules_.refresh(0);
  const auto append = [](auto& to, auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  for (const ModuleUnloadRecord& gone : changes.unloaded) {
    std::erase_if(snapshot.modules, [&gone](const ModuleLoadRecord& module) {
      return module.bias == gone.bias && module.first_avma() == gone.start_avma;
    });
  }
  append(snapshot.modules, changes.loaded);
  append(snapshot.hidden, changes.hidden);
  append(snapshot.problems, changes.problems);
}

// A library may have been loaded since the modules were looked up.
void SnapshotTaker::look_well(ThreadSnapshot& thread, Snapshot& snapshot) {
  look(thread);
  if (thread.stop == wire::StopReason::kRoot || !thread.problem.empty()) return;
  const uint64_t generation = modules_.generation();
  find_modules(snapshot);
  if (modules_.generation() == generation) return;
  map_ = read_memory_map(pid_);
  look(thread);
}

void SnapshotTaker::look(ThreadSnapshot& thread) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (look_at_waiting(thread)) return;
    const std::optional<char> state = thread_state(pid_, thread.tid);
    thread.state = state.value_or('X');
    if (thread.state == 'Z' || thread.state == 'X') {
      thread.problem = "it has ended";
      return;
    }
    if (thread.state == 'R' && look_at_running(thread)) return;
  }
  thread.problem = "it goes to sleep and wakes up too often to be met";
}

// What was read of a thread counts only if it has not run meanwhile.
bool SnapshotTaker::look_at_waiting(ThreadSnapshot& thread) {
  const std::optional<RunTimes> before = run_times(pid_, thread.tid);
  const std::optional<BlockedCall> call = blocked_call(pid_, thread.tid);
  if (!call) return false;
  thread.state = thread_state(pid_, thread.tid).value_or('X');
  const bool stopped = thread.state == 'T' || thread.state == 't';
  thread.wait = stopped ? WaitReason{} : reasons_.describe(*call);
  memory_.copy_stack(pid_, call->sp, stack_size(call->sp, kCopiedWaiting), true);
  native_.result =
      walker_->walk_blocked(call->pc, call->sp, memory_, native_.frames, native_.cfas.data());
  capture_python(thread.tid);
  keep(thread);
  return before && before == run_times(pid_, thread.tid);
}

std::string SnapshotTaker::why_not_stopped(int error) const {
  if (error == EPERM) return why_ptrace_refused(pid_, EPERM);
  if (error == ETIMEDOUT) return "it stayed in the kernel, or without a CPU, for a second";
  return std::strerror(error);
}

// True when there is nothing more to try.
bool SnapshotTaker::look_at_running(ThreadSnapshot& thread) {
  unwind::Registers registers;
  {
    const StoppedThread stopped(thread.tid);
    if (stopped.error() == ESRCH) return false;
    if (stopped.error() != 0) {
      thread.problem =
          fmt::format("it runs, and could not be stopped: {}", why_not_stopped(stopped.error()));
      return true;
    }
    registers = stopped.registers();
    const auto sp = Avma::at(registers.value[unwind::kSp]);
    memory_.copy_stack(pid_, sp, stack_size(sp, kCopiedRunning), false);
    capture_python(thread.tid);
    stopped_ns_ += stopped.stopped_ns();
  }
  thread.wait = {};
  native_.result = walker_->walk(registers, memory_, native_.frames, native_.cfas.data());
  keep(thread);
  return true;
}

void SnapshotTaker::keep(ThreadSnapshot& thread) {
  const unwind::WalkResult result = python_.merge(native_, captured_, frames_);
  thread.frames.assign(frames_.begin(), frames_.begin() + result.depth);
  thread.stop = result.stop;
}

// Bytes from the stack pointer to the end of its mapping, at most `most`.
size_t SnapshotTaker::stack_size(Avma sp, size_t most) const {
  const auto range =
      std::upper_bound(map_.begin(), map_.end(), sp,
                       [](Avma value, const MappedRange& entry) { return value < entry.end; });
  if (range == map_.end() || sp < range->start) return kUnknownStack;
  return std::min<uint64_t>(most, range->end - sp);
}

}  // namespace

Snapshot take_snapshot(pid_t pid,
                       const std::function<bool(pid_t tid, const std::string& name)>& wanted) {
  return SnapshotTaker(pid).take(wanted);
}

}  // namespace sampan::sampler
