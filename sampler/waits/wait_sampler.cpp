#include "sampler/waits/wait_sampler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <vector>

#include "base/file_descriptor.h"
#include "sampler/process/proc_task.h"
#include "sampler/process/remote_memory.h"
#include "sampler/waits/wait_reason.h"
#include "sampler/waits/waiting_thread.h"
#include "wire/record.h"

namespace sampan::sampler {
namespace {

// When one thread ends and another begins, the number of threads does not change.
constexpr uint64_t kScanInterval = 250'000'000;
// A wait that goes on is written so often, so a killed sampan loses no more of it.
constexpr uint64_t kWriteInterval = 1'000'000'000;
// Shorter times in the queue for a CPU are added up until they are worth a sample.
constexpr uint64_t kShortestRunnable = 5'000'000;
constexpr uint64_t kModulesInterval = 250'000'000;
// How late a running thread's CPU may be accounted: a tick of the slowest kernel (HZ=100).
constexpr uint64_t kUnaccounted = 10'000'000;
constexpr size_t kStackCopy = 16 << 10;  // most waiting stacks are smaller

const recording::Wait kAsleep = {"sleeping", ""};  // the kernel does not say in which call
const recording::Wait kUnseen = {"unseen", ""};    // waits so short that none was ever seen

bool sleeps(std::optional<char> state) {
  return state && (*state == 'S' || *state == 'D');
}

// A thread outside of a call waits for a page, unless our own engine has stopped it while it ran.
bool waits_for_page(const BlockedCall& call, pid_t pid, pid_t tid) {
  return call.number < 0 && thread_state(pid, tid) != 't';
}

// A zombie: the leader of threads that live on.
bool has_ended(std::optional<char> state) {
  return !state || state == 'Z' || state == 'X';
}

}  // namespace

struct WaitSampler::State {
  State(recording::Writer& to, const Target& of, ProcessModules& its_modules,
        RemoteWalker& its_walker, StackRecorder& its_stacks)
      : writer(to),
        target(of),
        modules(its_modules),
        walker(its_walker),
        stacks(its_stacks),
        reasons(of.pid),
        tasks(::open(fmt::format("/proc/{}/task", of.pid).c_str(), O_PATH | O_CLOEXEC)) {
    frames.resize(wire::kMaxFrames);
    native.frames.resize(wire::kMaxFrames);
    native.cfas.resize(wire::kMaxFrames);
  }

  struct Watched {
    pid_t tid;
    WaitingThread thread;
  };

  void look(MonotonicNs now_ns);
  void finish(MonotonicNs now_ns);

  template <typename Lives>
  void keep_those(MonotonicNs now_ns, Lives&& lives);
  void find_threads(MonotonicNs now_ns);
  bool look_at(pid_t tid, WaitingThread& thread, const RunTimes& times, MonotonicNs now_ns);
  std::optional<WaitPlace> place_of(pid_t tid, const std::optional<BlockedCall>& call,
                                    WaitingThread& thread, const RunTimes& times,
                                    MonotonicNs now_ns);
  void read_stack(pid_t tid, WaitingThread& thread, const BlockedCall& call, MonotonicNs now_ns,
                  WaitPlace& place);
  unwind::WalkResult add_python(pid_t tid);
  void write(WaitingThread& thread, const std::optional<WaitPlace>& place, const Waited& waited);
  void write_runnable(WaitingThread& thread, uint64_t at_least_ns, MonotonicNs now_ns);
  void end(WaitingThread& thread, const std::optional<RunTimes>& times, MonotonicNs now_ns);

  recording::Writer& writer;
  Target target;
  ProcessModules& modules;
  RemoteWalker& walker;
  StackRecorder& stacks;
  WaitReasons reasons;
  FileDescriptor tasks;
  std::vector<Watched> threads;
  MonotonicNs looked_ns = 0;  // at the process
  MonotonicNs next_scan_ns = 0;
  MonotonicNs next_modules_ns = 0;
  nlink_t links = 0;  // of /proc/PID/task: two more than there are threads
  RemoteMemory memory;
  CapturedPython captured;
  NativeWalk native;
  std::vector<uint64_t> frames;
};

// Those that do not live have ended.
template <typename Lives>
void WaitSampler::State::keep_those(MonotonicNs now_ns, Lives&& lives) {
  size_t kept = 0;
  for (Watched& watched : threads) {
    if (!lives(watched)) {
      end(watched.thread, std::nullopt, now_ns);
    } else if (Watched& place = threads[kept++]; &place != &watched) {
      place = std::move(watched);
    }
  }
  threads.erase(threads.begin() + static_cast<ptrdiff_t>(kept), threads.end());
}

void WaitSampler::State::look(MonotonicNs now_ns) {
  find_threads(now_ns);
  keep_those(now_ns, [&](Watched& watched) {
    if (!watched.thread.is_due(now_ns)) return true;
    const std::optional<RunTimes> times = watched.thread.read();
    return times && look_at(watched.tid, watched.thread, *times, now_ns);
  });
  looked_ns = now_ns;
}

// Adds threads that are new, and ends those that are gone.
void WaitSampler::State::find_threads(MonotonicNs now_ns) {
  struct stat status {};
  const nlink_t links_now = ::fstat(tasks.get(), &status) == 0 ? status.st_nlink : 0;
  if (links_now == links && now_ns < next_scan_ns) return;
  links = links_now;
  next_scan_ns = now_ns + kScanInterval;

  const std::vector<pid_t> tids = thread_ids(target.pid);
  std::unordered_set<pid_t> unknown(tids.begin(), tids.end());
  keep_those(now_ns, [&](const Watched& watched) { return unknown.erase(watched.tid) > 0; });
  for (const pid_t tid : unknown) {
    // Only the leader stays a zombie until the last thread has gone.
    if (tid == target.pid && has_ended(thread_state(target.pid, tid))) continue;
    SchedstatFile file(target.pid, tid);
    const std::optional<RunTimes> times = file.read();
    if (!times) continue;
    // A new thread began, on average, half way since the latest look.
    const bool first = looked_ns == 0;
    threads.push_back(
        {tid, WaitingThread(std::move(file), first ? now_ns : looked_ns + (now_ns - looked_ns) / 2,
                            first ? *times : RunTimes{})});
  }
}

// False when it has ended.
bool WaitSampler::State::look_at(pid_t tid, WaitingThread& thread, const RunTimes& times,
                                 MonotonicNs now_ns) {
  if (thread.row == recording::kNone) thread.row = target.thread_row(tid);
  if (target.thread_row(tid) != thread.row) return false;  // it has replaced itself by exec
  if (thread.place() && !thread.has_moved(times)) {
    thread.stayed(now_ns);
    if (now_ns - thread.written_ns() >= kWriteInterval) {
      write(thread, thread.place(), thread.take());
    }
    return true;
  }
  std::optional<BlockedCall> call = blocked_call(target.pid, tid);
  bool waits = call && (call->number >= 0 || waits_for_page(*call, target.pid, tid));
  if (!call) {
    const std::optional<char> state = thread_state(target.pid, tid);
    if (has_ended(state)) return false;
    waits = sleeps(state);
    if (waits) call = blocked_call(target.pid, tid);
  }
  const std::optional<WaitPlace> before = thread.place();
  const auto place = waits ? place_of(tid, call, thread, times, now_ns) : std::nullopt;
  write(thread, before, thread.moved(now_ns, times, place));
  write_runnable(thread, kShortestRunnable, now_ns);
  return true;
}

// The place of a thread that sleeps; without `call` the kernel does not say in which call. Nothing
// when the thread has run while it was read.
std::optional<WaitPlace> WaitSampler::State::place_of(pid_t tid,
                                                      const std::optional<BlockedCall>& call,
                                                      WaitingThread& thread, const RunTimes& times,
                                                      MonotonicNs now_ns) {
  if (thread.row == recording::kNone) return std::nullopt;
  WaitPlace place;
  if (target.context_of) place.context = target.context_of(tid);
  if (!call) {
    place.wait = writer.wait(kAsleep);
    return place;
  }
  const WaitReason reason = reasons.describe(*call);
  place.wait = writer.wait({reason.call, reason.object});
  read_stack(tid, thread, *call, now_ns, place);
  const std::optional<RunTimes> after = thread.read();
  return after == times ? std::optional(place) : std::nullopt;
}

void WaitSampler::State::read_stack(pid_t tid, WaitingThread& thread, const BlockedCall& call,
                                    MonotonicNs now_ns, WaitPlace& place) {
  const auto walk = [&] {
    memory.copy_stack(target.pid, call.sp, kStackCopy, true);
    native.result =
        walker.walk_blocked(call.pc, call.sp, memory, native.frames, native.cfas.data());
  };
  walk();
  const uint32_t depth = native.result.depth;
  unwind::Module module;
  if (target.refresh_modules && now_ns >= next_modules_ns &&
      !modules.find(depth > 0 ? native.frames[depth - 1] : uint64_t{call.pc}, module)) {
    next_modules_ns = now_ns + kModulesInterval;
    target.refresh_modules(now_ns);
    walk();
  }
  const unwind::WalkResult result = add_python(tid);
  std::reverse(frames.begin(), frames.begin() + result.depth);
  place.stack = stacks.row(thread.previous_stack, std::span(frames).first(result.depth), 0, now_ns);
  place.stop = result.stop;
}

// Puts Python's frames into the stack that was walked, in `frames`.
unwind::WalkResult WaitSampler::State::add_python(pid_t tid) {
  if (target.python == nullptr || target.python->interpreter() == nullptr) {
    frames.swap(native.frames);
    return native.result;
  }
  target.python->capture(tid, memory.low(), memory.bytes(), captured);
  const unwind::WalkResult result = target.python->merge(native, captured, frames);
  for (PythonCodeRecord& code : target.python->take_new_codes()) stacks.add(std::move(code));
  return result;
}

void WaitSampler::State::write(WaitingThread& thread, const std::optional<WaitPlace>& place,
                               const Waited& waited) {
  if (!place || waited.weight_ns == 0 || thread.row == recording::kNone) return;
  recording::Sample sample;
  sample.thread = thread.row;
  sample.stack = place->stack;
  sample.time_ns = target.clock.at(waited.time_ns);
  sample.weight_ns = waited.weight_ns;
  sample.stop = place->stop;
  sample.wait = place->wait;
  sample.context = writer.context(place->context);
  writer.add(sample);
}

void WaitSampler::State::write_runnable(WaitingThread& thread, uint64_t at_least_ns,
                                        MonotonicNs now_ns) {
  const uint64_t runnable_ns = thread.take_runnable(at_least_ns);
  if (runnable_ns == 0) return;
  WaitPlace place;
  place.wait = writer.wait({recording::kRunnable, ""});
  write(thread, place, {now_ns, runnable_ns});
}

void WaitSampler::State::end(WaitingThread& thread, const std::optional<RunTimes>& times,
                             MonotonicNs now_ns) {
  const Waited rest = thread.ended(now_ns, times);
  std::optional<WaitPlace> place = thread.last_place();
  // Less than that may be CPU of a running thread that the kernel has not accounted yet.
  if (!place && rest.weight_ns >= kUnaccounted) {
    place.emplace();
    place->wait = writer.wait(kUnseen);
  }
  write(thread, place, rest);
  write_runnable(thread, 1, now_ns);
}

void WaitSampler::State::finish(MonotonicNs now_ns) {
  for (Watched& watched : threads) end(watched.thread, watched.thread.read(), now_ns);
  threads.clear();
  looked_ns = 0;
  links = 0;
}

WaitSampler::WaitSampler(recording::Writer& writer, const Target& target, ProcessModules& modules,
                         RemoteWalker& walker, StackRecorder& stacks)
    : state_(std::make_unique<State>(writer, target, modules, walker, stacks)) {}

WaitSampler::~WaitSampler() = default;

void WaitSampler::look(MonotonicNs now_ns) {
  state_->look(now_ns);
}

void WaitSampler::finish(MonotonicNs now_ns) {
  state_->finish(now_ns);
}

struct WaitObserver::Process {
  explicit Process(RecordedProcess& of)
      : process(of),
        waits(of.writer(),
              {of.pid(), of.clock(), [&of](pid_t tid) { return of.thread_row(tid); },
               [&of](MonotonicNs now_ns) { of.refresh_modules(now_ns); }, of.python(),
               [&of](pid_t tid) { return of.context_of(tid); }},
              of.modules(), of.walker(), of.stacks()) {}

  void look(MonotonicNs now_ns) {
    if (process.sampling()) {
      waits.look(now_ns);
    } else if (was_sampling) {
      waits.finish(now_ns);
    }
    was_sampling = process.sampling();
  }

  RecordedProcess& process;
  bool was_sampling = true;
  WaitSampler waits;
};

WaitObserver::WaitObserver() = default;
WaitObserver::~WaitObserver() = default;

void WaitObserver::began(RecordedProcess& process) {
  processes_[process.pid()] = std::make_unique<Process>(process);
}

void WaitObserver::look(MonotonicNs now_ns) {
  for (const auto& [pid, process] : processes_) process->look(now_ns);
}

void WaitObserver::end_segment(MonotonicNs now_ns) {
  for (const auto& [pid, process] : processes_) {
    if (process->was_sampling) process->waits.finish(now_ns);
  }
}

void WaitObserver::ended(pid_t pid, MonotonicNs now_ns) {
  const auto found = processes_.find(pid);
  if (found == processes_.end()) return;
  found->second->waits.finish(now_ns);
  processes_.erase(found);
}

}  // namespace sampan::sampler
