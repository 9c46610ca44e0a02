#include "sampler/recorder/recorded_process.h"

#include <algorithm>

#include "base/clock.h"
#include "sampler/process/proc_task.h"

namespace sampan::sampler {

RecordedProcess::RecordedProcess(recording::Writer& writer, SessionClock clock, pid_t pid,
                                 pid_t parent_pid, Threads threads)
    : writer_(writer),
      stacks_(writer),
      clock_(clock),
      pid_(pid),
      parent_pid_(parent_pid),
      threads_(threads) {}

uint32_t RecordedProcess::begin_image(const std::string& executable, MonotonicNs time_ns,
                                      CpuNs start_clock_ns) {
  recording::Process process;
  process.pid = pid_;
  process.parent_pid = parent_pid_;
  process.start_ns = session_time(time_ns);
  process.name = executable;
  row_ = writer_.add(process);
  code_names_.emplace(writer_, clock_, pid_, row_);
  losses_ = {};
  losses_.process = row_;
  written_losses_ = losses_;
  ended_clocks_ns_ = left_out_ns_ = 0;
  start_clock_ns_ = clock_ns_ = start_clock_ns;
  return row_;
}

SampledThread RecordedProcess::begin_thread(pid_t tid, MonotonicNs time_ns, CpuNs cpu_ns,
                                            const std::string& name) {
  recording::Thread row;
  row.process = row_;
  row.tid = tid;
  row.start_ns = session_time(time_ns);
  row.name = name;
  SampledThread thread;
  thread.row = writer_.add(row);
  thread.tid = tid;
  thread.start_clock_ns = thread.clock_ns = cpu_ns;
  return thread;
}

void RecordedProcess::add_sample(SampledThread& thread, const SampleRecord& sample,
                                 uint64_t period_ns, std::span<const uint64_t> stack,
                                 size_t shared) {
  recording::Sample row;
  row.thread = thread.row;
  row.time_ns = session_time(sample.time_ns);
  row.weight_ns = thread.weigh(sample, period_ns);
  row.stop = sample.stop;
  row.stack = stack_row(thread, stack, shared, sample.time_ns);
  row.context = writer_.context(sample.context);
  writer_.add(row);
}

uint32_t RecordedProcess::stack_row(SampledThread& thread, std::span<const uint64_t> stack,
                                    size_t shared, MonotonicNs time_ns) {
  const uint32_t row = stacks_.row(thread.previous, stack, shared, time_ns);
  if (!stacks_.met_unknown_code() || !find_code(time_ns)) return row;
  return stacks_.row(thread.previous, stack, 0, time_ns);
}

void RecordedProcess::end_thread(const SampledThread& thread, MonotonicNs time_ns,
                                 std::optional<CpuNs> clock_ns) {
  recording::ThreadEnd end;
  end.thread = thread.row;
  end.time_ns = session_time(time_ns);
  const CpuNs latest_ns = std::max(clock_ns.value_or(CpuNs()), thread.clock_ns);
  if (clock_ns) end.cpu_ns = thread.used_ns(latest_ns);
  writer_.add(end);
  ended_clocks_ns_ += counted_ns(thread, latest_ns);
  left_out_ns_ += thread.left_out_ns;
}

void RecordedProcess::end_image(MonotonicNs time_ns, const ExitState& exit, bool replaced,
                                bool lives_on) {
  name_rest_of_code();
  write_losses();
  // When nobody can read the process's clock any more, the clocks of its threads may be later.
  read_clock();
  recording::ProcessEnd end;
  end.process = row_;
  end.time_ns = session_time(time_ns);
  end.cpu_ns = used_ns(clock_ns_, ended_clocks_ns_, left_out_ns_);
  end.exit_status = exit.status;
  end.exit_signal = exit.signal;
  end.replaced = replaced;
  end.lives_on = lives_on;
  writer_.add(end);
  earlier_cpu_ns_ = cpu_ns();
  start_clock_ns_ = clock_ns_;
  ended_clocks_ns_ = 0;
}

void RecordedProcess::account_segment(MonotonicNs time_ns) {
  name_rest_of_code();
  uint64_t threads_ns = ended_clocks_ns_, left_out_ns = left_out_ns_, not_sampled_ns = 0;
  for (const SampledThread* thread : live_threads()) {
    writer_.account(recording::ThreadEnd{thread->row, session_time(time_ns),
                                         thread->used_ns(thread->clock_ns)});
    const std::optional<RunTimes> times = run_times(pid_, thread->tid);
    if (times) not_sampled_ns += times->cpu_ns.since(thread->clock_ns);
    threads_ns += counted_ns(*thread, thread->clock_ns);
    left_out_ns += thread->left_out_ns;
  }
  read_clock();
  recording::ProcessEnd so_far;
  so_far.process = row_;
  so_far.time_ns = session_time(time_ns);
  so_far.cpu_ns = used_ns(clock_ns_.earlier(not_sampled_ns), threads_ns, left_out_ns);
  so_far.lives_on = true;
  writer_.account(so_far);
}

void RecordedProcess::name_code() {
  if (!begun()) return;
  name_last_code();
  code_names_->look(monotonic_ns());
}

void RecordedProcess::name_last_code() {
  code_names_->add(stacks_.take_unknown());
}

void RecordedProcess::name_rest_of_code() {
  name_last_code();
  code_names_->look_at_map();
}

void RecordedProcess::write_losses() {
  recording::Losses losses = losses_;
  add_losses(&losses);
  if (std::ranges::equal(losses.count, written_losses_.count)) return;
  writer_.add(losses);
  written_losses_ = losses;
}

void RecordedProcess::read_clock() {
  note_clock(process_cpu_ns(pid_).value_or(CpuNs()));
}

uint64_t RecordedProcess::cpu_ns() const {
  return earlier_cpu_ns_ + used_ns(clock_ns_, ended_clocks_ns_, 0);
}

uint64_t RecordedProcess::counted_ns(const SampledThread& thread, CpuNs clock_ns) const {
  if (threads_ == Threads::kWhole) return clock_ns;
  return clock_ns.since(thread.start_clock_ns);
}

// The process's clock may stand before those of its threads when it could not be read at the end.
uint64_t RecordedProcess::used_ns(CpuNs clock_ns, uint64_t threads_ns, uint64_t left_out_ns) const {
  if (threads_ == Threads::kSinceSampled) threads_ns += start_clock_ns_;
  const CpuNs latest_ns = std::max(clock_ns, CpuNs::at(threads_ns));
  return latest_ns.since(start_clock_ns_ + left_out_ns);
}

}  // namespace sampan::sampler
