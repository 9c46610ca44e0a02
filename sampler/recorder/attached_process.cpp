#include "sampler/recorder/attached_process.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/units.h"
#include "sampler/process/proc_task.h"
#include "wire/record.h"

namespace sampan::sampler {
namespace {

// Code that was compiled at run time belongs to no module; it must not make us read the maps for
// every sample: the interval doubles with each look that finds nothing. A program that has just
// mapped something is likely to map more, and its next sample may be there already.
constexpr uint64_t kShortestModulesInterval = 1;
constexpr uint64_t kLongestModulesInterval = 256'000'000;
// Most threads are named once, soon after they begin, and there may be thousands.
constexpr uint64_t kShortestNameInterval = kNsPerSecond, kLongestNameInterval = 8 * kNsPerSecond;
// To read a process's clock, the kernel visits all threads, which takes 0.1 ms for 500 of them.
// This may take a thousandth of the time.
constexpr uint64_t kClockShare = 1000;
constexpr uint64_t kLongestClock = 100'000'000;

}  // namespace

AttachedProcess::AttachedProcess(RecordingSession& session, pid_t pid, bool awaits_exec)
    : RecordedProcess(session.writer(), session.clock(), pid,
                      process_status(pid).value_or(ProcessStatus{}).parent_pid,
                      Threads::kSinceSampled),
      period_ns_(kNsPerSecond / session.rate_hz()),
      modules_(pid),
      walker_(modules_),
      kept_(session.kept()),
      paused_(session.paused()),
      reads_python_(session.python()),
      python_(pid),
      python_names_(pid),
      frames_(wire::kMaxFrames) {
  native_.frames.resize(wire::kMaxFrames);
  native_.cfas.resize(wire::kMaxFrames);
  if (!awaits_exec) begin(monotonic_ns());
}

void AttachedProcess::begin(MonotonicNs time_ns) {
  begin_image(program_of(pid()), time_ns, process_cpu_ns(pid()).value_or(clock_ns()));
  paused_since_ns_ = time_ns;
  AttachedProcess::refresh_modules(time_ns);  // the constructor's, too
}

void AttachedProcess::thread_began(pid_t tid, MonotonicNs time_ns, std::optional<CpuNs> cpu_ns) {
  if (!begun() || threads_.contains(tid)) return;
  names_interval_ns_ = next_names_ns_ = 0;  // it has yet to give itself a name
  Thread& thread = threads_[tid];
  const std::optional<std::string> name = thread_name(pid(), tid);
  // A thread that has ended already gets the name that threads inherit.
  thread.name = python_names_.name_of(tid, name ? *name : thread_name(pid(), pid()).value_or(""));
  if (!cpu_ns) {
    const std::optional<RunTimes> times = run_times(pid(), tid);
    cpu_ns = times ? times->cpu_ns : CpuNs();
  }
  thread.sampled = begin_thread(tid, time_ns, *cpu_ns, thread.name);
}

void AttachedProcess::thread_named(pid_t tid, MonotonicNs time_ns, const std::string& in_kernel) {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return;
  const std::string name = python_names_.name_of(tid, in_kernel);
  if (found->second.name == name) return;
  found->second.name = name;
  names_interval_ns_ = next_names_ns_ = 0;
  writer().add(recording::ThreadName{found->second.sampled.row, session_time(time_ns), name});
}

void AttachedProcess::look_at_name(pid_t tid, MonotonicNs time_ns) {
  if (const auto name = thread_name(pid(), tid)) thread_named(tid, time_ns, *name);
}

void AttachedProcess::look_at_names(MonotonicNs time_ns) {
  names_interval_ns_ =
      std::clamp(2 * names_interval_ns_, kShortestNameInterval, kLongestNameInterval);
  next_names_ns_ = time_ns + names_interval_ns_;
  for (const auto& [tid, thread] : threads_) look_at_name(tid, time_ns);
}

void AttachedProcess::thread_ended(pid_t tid, MonotonicNs time_ns, std::optional<CpuNs> cpu_ns) {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return;
  SampledThread& thread = found->second.sampled;
  if (paused_ && cpu_ns) thread.leave_out({time_ns, *cpu_ns, 0, {}}, 0);
  end_thread(thread, time_ns, cpu_ns);
  threads_.erase(found);
  python_names_.forget(tid);
}

void AttachedProcess::add_sample(const OnCpu& sample, RemoteMemory& memory) {
  if (!begun()) return;
  thread_began(sample.tid, sample.time_ns);
  Thread& thread = threads_.find(sample.tid)->second;
  if (paused_) {
    thread.sampled.leave_out({sample.time_ns, sample.cpu_ns, 1, {}}, period_ns_);
    return;
  }
  // Threads get their names soon after they begin, and not all engines notice.
  if (std::has_single_bit(++thread.samples)) look_at_name(sample.tid, sample.time_ns);
  walk_stack(sample, memory);
  count_loss(wire::Loss::kTableOverruled, walker_.take_overruled());
  CapturedPython none;
  CapturedPython& captured = sample.python != nullptr ? *sample.python : none;
  unwind::WalkResult walk = python_.merge(native_, captured, frames_);
  if (sample.is_late && walk.stop == wire::StopReason::kRoot) {
    walk.stop = wire::StopReason::kPythonLate;
  }
  for (PythonCodeRecord& code : python_.take_new_codes()) stacks().add(std::move(code));
  const size_t shared = take_stack(thread, walk.depth);
  RecordedProcess::add_sample(thread.sampled, {sample.time_ns, sample.cpu_ns, 1, walk.stop},
                              period_ns_, thread.stack, shared);
}

void AttachedProcess::walk_stack(const OnCpu& sample, RemoteMemory& memory) {
  const auto walk = [&] {
    native_.result = walker_.walk(sample.registers, memory, native_.frames, native_.cfas.data());
  };
  walk();
  const unwind::WalkResult& result = native_.result;
  unwind::Module module;
  const bool lost = result.stop != wire::StopReason::kRoot && result.depth > 0 &&
                    !modules_.find(native_.frames[result.depth - 1], module);
  if (lost && find_code(sample.time_ns)) walk();
}

bool AttachedProcess::find_code(MonotonicNs time_ns) {
  if (time_ns < next_modules_ns_) return false;
  const uint64_t generation = modules_.generation();
  refresh_modules(time_ns);
  return modules_.generation() != generation;
}

size_t AttachedProcess::take_stack(Thread& thread, size_t depth) {
  const auto fresh = std::span(frames_).first(depth);
  const size_t known = std::min(depth, thread.stack.size());
  size_t shared = 0;
  while (shared < known && thread.stack[shared] == fresh[depth - 1 - shared]) ++shared;
  thread.stack.assign(fresh.rbegin(), fresh.rend());
  return shared;
}

void AttachedProcess::refresh(MonotonicNs time_ns) {
  if (!begun()) return;
  refresh_modules(time_ns);
  if (time_ns >= next_names_ns_) look_at_names(time_ns);
  write_losses();
}

void AttachedProcess::tick(MonotonicNs now_ns) {
  if (now_ns < next_clock_ns_) return;
  const MonotonicNs begin_ns = monotonic_ns();
  read_clock();
  const uint64_t took_ns = monotonic_ns() - begin_ns;
  next_clock_ns_ = now_ns + std::min(took_ns * kClockShare, kLongestClock);
}

void AttachedProcess::executed(MonotonicNs time_ns) {
  end(time_ns, {}, true, false);
  python_.forget();
  python_names_.use(nullptr);
  begin(time_ns);
}

ExitState AttachedProcess::finish(const End& how) {
  end(how.time_ns, how.exit, how.replaced, false);
  return how.exit;
}

void AttachedProcess::leave(MonotonicNs time_ns) {
  end(time_ns, {}, false, true);
}

void AttachedProcess::end(MonotonicNs time_ns, const ExitState& exit, bool replaced,
                          bool lives_on) {
  if (!begun()) return;
  // Once for a process: an image that is being replaced may already have been looked at as the next one.
  if (python_.is_unknown() && !std::exchange(has_counted_python_, true)) {
    count_loss(wire::Loss::kPythonUnknown);
  }
  while (!threads_.empty()) {
    const pid_t tid = threads_.begin()->first;
    const std::optional<RunTimes> times = run_times(pid(), tid);
    thread_ended(tid, time_ns, times ? std::optional(times->cpu_ns) : std::nullopt);
  }
  end_image(time_ns, exit, replaced, lives_on);
  if (paused_) end_pause(time_ns);
}

void AttachedProcess::end_segment(MonotonicNs time_ns) {
  if (!begun()) return;
  write_losses();
  account_segment(time_ns);
  if (!paused_) return;
  end_pause(time_ns);
  paused_since_ns_ = time_ns;
}

void AttachedProcess::set_paused(bool paused, MonotonicNs time_ns) {
  if (paused == paused_) return;
  if (!paused && begun()) end_pause(time_ns);
  paused_ = paused;
  paused_since_ns_ = time_ns;
}

void AttachedProcess::end_pause(MonotonicNs time_ns) {
  writer().add(recording::Pause{session_time(paused_since_ns_),
                                session_time(std::max(paused_since_ns_, time_ns)), row()});
}

uint32_t AttachedProcess::thread_row(pid_t tid) const {
  const auto found = threads_.find(tid);
  return found != threads_.end() ? found->second.sampled.row : recording::kNone;
}

void AttachedProcess::set_rate(uint32_t rate_hz) {
  period_ns_ = kNsPerSecond / rate_hz;
}

void AttachedProcess::refresh_modules(MonotonicNs time_ns) {
  if (!begun()) return;
  const ProcessModules::Changes changes = modules_.refresh(time_ns);
  modules_interval_ns_ = changes.empty()
                             ? std::min(2 * modules_interval_ns_, kLongestModulesInterval)
                             : kShortestModulesInterval;
  next_modules_ns_ = time_ns + modules_interval_ns_;
  for (const ModuleUnloadRecord& record : changes.unloaded) stacks().unload(record);
  for (const ModuleLoadRecord& record : changes.loaded) stacks().load(record);
  if (reads_python_ && !changes.empty()) {
    python_.look();
    python_names_.use(python_.interpreter());
  }
  hidden_.insert(hidden_.end(), changes.hidden.begin(), changes.hidden.end());
  for (const HiddenFile& file : changes.files) {
    if (kept_.wants(file.path, file.build_id)) kept_.keep(file);
  }
}

std::vector<const SampledThread*> AttachedProcess::live_threads() const {
  std::vector<const SampledThread*> live;
  for (const auto& [tid, thread] : threads_) live.push_back(&thread.sampled);
  return live;
}

AttachedProcess& AttachedProcesses::process(pid_t pid) {
  if (auto* known = dynamic_cast<AttachedProcess*>(session_.find(pid))) return *known;
  session_.ended(pid, monotonic_ns(), {}, true);
  const bool is_root = awaits_exec_ && pid == session_.root();
  const bool awaits_exec = is_root || session_.awaits_exec(pid);
  return static_cast<AttachedProcess&>(
      session_.add(std::make_unique<AttachedProcess>(session_, pid, awaits_exec)));
}

void AttachedProcesses::ended(pid_t pid, MonotonicNs time_ns, const ExitState& exit) {
  session_.ended(pid, time_ns, exit);
}

}  // namespace sampan::sampler
