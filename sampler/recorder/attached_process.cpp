#include "attach/attached_process.h"

#include <algorithm>
#include <bit>

#include "attach/proc_task.h"
#include "base/clock.h"
#include "base/units.h"
#include "sampler/program.h"
#include "wire/record.h"

namespace sampan::attach {
namespace {

// Code that belongs to no module, because it was compiled at run time, must not make us read the
// maps for every sample. A program that has just mapped something is likely to map more.
constexpr uint64_t kShortestInterval = 4'000'000;
constexpr uint64_t kLongestInterval = 256'000'000;
// Most threads are named once, when they begin, and there may be thousands.
constexpr uint64_t kShortestNameInterval = kNsPerSecond, kLongestNameInterval = 8 * kNsPerSecond;
// The kernel goes through all threads for a process's clock, which takes it 0.1 ms for 500: we let
// it do that for a thousandth of the time.
constexpr uint64_t kClockShare = 1000;
constexpr uint64_t kLongestClock = 100'000'000;

}  // namespace

AttachedProcess::AttachedProcess(recording::Writer& writer, const Origin& origin)
    : writer_(writer),
      origin_(origin),
      modules_(origin.pid),
      walker_(modules_),
      frameless_leaf_(origin.pid, modules_),
      stacks_(writer),
      frames_(wire::kMaxFrames) {
  if (origin.awaits_exec) return;
  begin_image(origin.start_ns);
  refresh_modules(origin.start_ns);
}

void AttachedProcess::begin_image(uint64_t time_ns) {
  recording::Process process;
  process.pid = origin_.pid;
  process.parent_pid = origin_.parent_pid;
  process.start_ns = session_time(time_ns);
  process.name = sampler::executable_of(origin_.pid);
  row_ = writer_.add(process);
  losses_ = {};
  losses_.process = row_;
  written_losses_ = losses_;
  ended_clocks_ns_ = left_out_ns_ = 0;
  paused_since_ns_ = time_ns;
  start_clock_ns_ = clock_ns_ = sampler::process_cpu_ns(origin_.pid).value_or(clock_ns_);
}

void AttachedProcess::thread_began(pid_t tid, uint64_t time_ns, std::optional<uint64_t> cpu_ns) {
  if (!begun() || threads_.contains(tid)) return;
  names_interval_ns_ = next_names_ns_ = 0;  // it has yet to give itself a name
  Thread& thread = threads_[tid];
  const std::optional<std::string> name = thread_name(origin_.pid, tid);
  // Of one that has ended already the name is that which threads inherit.
  thread.name = name ? *name : thread_name(origin_.pid, origin_.pid).value_or("");
  if (!cpu_ns) {
    const std::optional<RunTimes> times = run_times(origin_.pid, tid);
    cpu_ns = times ? times->cpu_ns : 0;
  }
  recording::Thread row;
  row.process = row_;
  row.tid = tid;
  row.start_ns = session_time(time_ns);
  row.name = thread.name;
  thread.sampled.row = writer_.add(row);
  thread.sampled.tid = tid;
  thread.sampled.start_clock_ns = thread.sampled.clock_ns = *cpu_ns;
}

void AttachedProcess::thread_named(pid_t tid, uint64_t time_ns, const std::string& name) {
  const auto found = threads_.find(tid);
  if (found == threads_.end() || found->second.name == name) return;
  found->second.name = name;
  names_interval_ns_ = next_names_ns_ = 0;
  writer_.add(recording::ThreadName{found->second.sampled.row, session_time(time_ns), name});
}

void AttachedProcess::look_at_name(pid_t tid, uint64_t time_ns) {
  if (const auto name = thread_name(origin_.pid, tid)) thread_named(tid, time_ns, *name);
}

void AttachedProcess::look_at_names(uint64_t time_ns) {
  names_interval_ns_ =
      std::clamp(2 * names_interval_ns_, kShortestNameInterval, kLongestNameInterval);
  next_names_ns_ = time_ns + names_interval_ns_;
  for (const auto& [tid, thread] : threads_) look_at_name(tid, time_ns);
}

void AttachedProcess::thread_ended(pid_t tid, uint64_t time_ns, std::optional<uint64_t> cpu_ns) {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return;
  sampler::SampledThread& thread = found->second.sampled;
  if (paused_ && cpu_ns) thread.leave_out({time_ns, *cpu_ns, 0, {}}, 0);
  left_out_ns_ += thread.left_out_ns;
  recording::ThreadEnd end;
  end.thread = thread.row;
  end.time_ns = session_time(time_ns);
  if (cpu_ns) end.cpu_ns = thread.used_ns(std::max(*cpu_ns, thread.clock_ns));
  ended_clocks_ns_ += thread.used_ns(std::max(cpu_ns.value_or(0), thread.clock_ns));
  writer_.add(end);
  threads_.erase(found);
}

void AttachedProcess::add_sample(const OnCpu& sample, RemoteMemory& memory) {
  if (!begun()) return;
  thread_began(sample.tid, sample.time_ns);
  Thread& thread = threads_.find(sample.tid)->second;
  if (paused_) {
    thread.sampled.leave_out({sample.time_ns, sample.cpu_ns, 1, {}}, origin_.period_ns);
    return;
  }
  // Threads take their names soon after they begin, and not all engines hear of it.
  if (std::has_single_bit(++thread.samples)) look_at_name(sample.tid, sample.time_ns);
  const unwind::WalkResult walk = walk_stack(sample, memory);
  const size_t shared = take_stack(thread, walk.depth);
  recording::Sample row;
  row.thread = thread.sampled.row;
  row.time_ns = session_time(sample.time_ns);
  row.weight_ns =
      thread.sampled.weigh({sample.time_ns, sample.cpu_ns, 1, walk.stop}, origin_.period_ns);
  row.stop = walk.stop;
  row.stack = stacks_.row(thread.sampled.previous, thread.stack, shared, sample.time_ns);
  writer_.add(row);
}

unwind::WalkResult AttachedProcess::walk_stack(const OnCpu& sample, RemoteMemory& memory) {
  unwind::WalkResult walk = walk_once(sample.registers, memory);
  unwind::Module module;
  const bool lost = walk.stop == wire::StopReason::kNoRule && walk.depth > 0 &&
                    !modules_.find(frames_[walk.depth - 1], module);
  if (lost && sample.time_ns >= next_modules_ns_) {
    const uint64_t generation = modules_.generation();
    refresh_modules(sample.time_ns);
    if (modules_.generation() != generation) {
      walk = walk_once(sample.registers, memory);
    }
  }
  return walk;
}

unwind::WalkResult AttachedProcess::walk_once(unwind::Registers registers, RemoteMemory& memory) {
  const uint64_t pc = registers.value[unwind::kRip];
  if (!frameless_leaf_.leave(registers, memory)) return walker_.walk(registers, memory, frames_);
  unwind::WalkResult walk = walker_.walk(registers, memory, std::span(frames_).subspan(1));
  frames_[0] = pc;
  ++walk.depth;
  return walk;
}

size_t AttachedProcess::take_stack(Thread& thread, size_t depth) {
  const auto fresh = std::span(frames_).first(depth);
  const size_t known = std::min(depth, thread.stack.size());
  size_t shared = 0;
  while (shared < known && thread.stack[shared] == fresh[depth - 1 - shared]) ++shared;
  thread.stack.assign(fresh.rbegin(), fresh.rend());
  return shared;
}

void AttachedProcess::refresh(uint64_t time_ns) {
  if (!begun()) return;
  refresh_modules(time_ns);
  if (time_ns >= next_names_ns_) look_at_names(time_ns);
  write_losses();
}

void AttachedProcess::look_at_clock(uint64_t now_ns) {
  if (now_ns < next_clock_ns_) return;
  const uint64_t begin_ns = monotonic_ns();
  read_clock();
  const uint64_t took_ns = monotonic_ns() - begin_ns;
  next_clock_ns_ = now_ns + std::min(took_ns * kClockShare, kLongestClock);
}

void AttachedProcess::read_clock() {
  clock_ns_ = std::max(clock_ns_, sampler::process_cpu_ns(origin_.pid).value_or(0));
}

void AttachedProcess::modules_changed(uint64_t time_ns) {
  if (!begun()) return;
  refresh_modules(time_ns);
}

void AttachedProcess::executed(uint64_t time_ns) {
  recording::ProcessEnd end;
  end.replaced = true;
  if (begun()) end_image(end, time_ns);
  begin_image(time_ns);
  refresh_modules(time_ns);
}

void AttachedProcess::finish(uint64_t time_ns, const sampler::ExitState& exit, bool lives_on) {
  recording::ProcessEnd end;
  end.exit_status = exit.status;
  end.exit_signal = exit.signal;
  end.lives_on = lives_on;
  if (begun()) end_image(end, time_ns);
}

void AttachedProcess::end_image(recording::ProcessEnd end, uint64_t time_ns) {
  while (!threads_.empty()) {
    const pid_t tid = threads_.begin()->first;
    const std::optional<RunTimes> times = run_times(origin_.pid, tid);
    thread_ended(tid, time_ns, times ? std::optional(times->cpu_ns) : std::nullopt);
  }
  write_losses();
  // Of a process that nobody can ask any more, what its threads said may be the latest.
  read_clock();
  const uint64_t used_ns = clock_ns_ - start_clock_ns_;
  earlier_cpu_ns_ += used_ns;
  start_clock_ns_ = clock_ns_;
  end.process = row_;
  end.time_ns = session_time(time_ns);
  end.cpu_ns = std::max(used_ns - std::min(used_ns, left_out_ns_), ended_clocks_ns_);
  writer_.add(end);
  if (paused_) end_pause(time_ns);
}

void AttachedProcess::end_segment(uint64_t time_ns) {
  if (!begun()) return;
  write_losses();
  read_clock();
  uint64_t sampled_ns = ended_clocks_ns_, left_out_ns = left_out_ns_, not_sampled_ns = 0;
  for (const auto& [tid, entry] : threads_) {
    const sampler::SampledThread& thread = entry.sampled;
    const uint64_t used_ns = thread.used_ns(thread.clock_ns);
    writer_.account(recording::ThreadEnd{thread.row, session_time(time_ns), used_ns});
    const uint64_t clock_ns = sampler::thread_cpu_ns(origin_.pid, tid).value_or(thread.clock_ns);
    not_sampled_ns += clock_ns - std::min(clock_ns, thread.clock_ns);
    sampled_ns += used_ns;
    left_out_ns += thread.left_out_ns;
  }
  const uint64_t all_ns = clock_ns_ - start_clock_ns_;
  recording::ProcessEnd so_far;
  so_far.process = row_;
  so_far.time_ns = session_time(time_ns);
  so_far.cpu_ns = std::max(all_ns - std::min(all_ns, not_sampled_ns + left_out_ns), sampled_ns);
  so_far.lives_on = true;
  writer_.account(so_far);
  if (!paused_) return;
  end_pause(time_ns);
  paused_since_ns_ = time_ns;
}

void AttachedProcess::set_paused(bool paused, uint64_t time_ns) {
  if (paused == paused_) return;
  if (!paused && begun()) end_pause(time_ns);
  paused_ = paused;
  paused_since_ns_ = time_ns;
}

void AttachedProcess::end_pause(uint64_t time_ns) {
  writer_.add(recording::Pause{session_time(paused_since_ns_),
                               session_time(std::max(paused_since_ns_, time_ns)), row_});
}

void AttachedProcess::count_loss(wire::Loss loss, uint64_t count) {
  losses_.count[static_cast<size_t>(loss)] += count;
}

uint32_t AttachedProcess::thread_row(pid_t tid) const {
  const auto found = threads_.find(tid);
  return found != threads_.end() ? found->second.sampled.row : recording::kNone;
}

void AttachedProcess::refresh_modules(uint64_t time_ns) {
  const ProcessModules::Changes changes = modules_.refresh(time_ns);
  modules_interval_ns_ =
      changes.empty() ? std::min(2 * modules_interval_ns_, kLongestInterval) : kShortestInterval;
  next_modules_ns_ = time_ns + modules_interval_ns_;
  for (const sampler::ModuleUnloadRecord& record : changes.unloaded) stacks_.unload(record);
  for (const sampler::ModuleLoadRecord& record : changes.loaded) stacks_.load(record);
  hidden_.insert(hidden_.end(), changes.hidden.begin(), changes.hidden.end());
}

void AttachedProcess::write_losses() {
  if (std::ranges::equal(losses_.count, written_losses_.count)) return;
  writer_.add(losses_);
  written_losses_ = losses_;
}

uint64_t AttachedProcess::session_time(uint64_t monotonic_ns) const {
  return monotonic_ns > origin_.session_start_ns ? monotonic_ns - origin_.session_start_ns : 0;
}

}  // namespace sampan::attach
