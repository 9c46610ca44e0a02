#include "sampler/target_process.h"

#include <algorithm>
#include <unordered_set>

#include "base/clock.h"
#include "wire/record.h"

namespace sampan::sampler {
namespace {

// Names that came before their thread are kept for the next round, but not without end.
constexpr size_t kMaxWaitingNames = 16384;

double share(uint64_t used, size_t capacity) {
  return static_cast<double>(used) / static_cast<double>(capacity);
}

uint32_t write_process(recording::Writer& writer, const TargetProcess::Origin& origin,
                       uint64_t start_ns) {
  recording::Process process;
  process.pid = origin.pid;
  process.parent_pid = origin.parent_pid;
  process.start_ns = start_ns;
  process.name = origin.executable;
  return writer.add(process);
}

}  // namespace

TargetProcess::TargetProcess(recording::Writer& writer, const Origin& origin, SharedMemory memory)
    : writer_(writer),
      origin_(origin),
      memory_(std::move(memory)),
      row_(write_process(writer, origin, session_time(origin.start_ns))),
      process_ring_(&wire::control_block(memory_.base())->process_ring,
                    wire::process_ring_buffer(memory_.base())),
      stacks_(writer),
      markers_(writer, memory_.base(),
               {row_, origin.session_start_ns, origin.start_ns, origin.switches}, thread_rows_) {
  written_losses_.process = row_;
}

TargetProcess::Drained TargetProcess::drain() {
  Drained drained;
  drained.fullest = markers_.note_heads(monotonic_ns());
  note_heads(drained);
  drain_process_ring(drained);
  for (const uint32_t index : filled_) drain_thread_ring(slots_[index], drained);
  apply_names();
  drained.records += markers_.drain();
  return drained;
}

void TargetProcess::note_heads(Drained& drained) {
  const uint32_t used =
      std::min(wire::control_block(memory_.base())->slots_used.load(std::memory_order_acquire),
               wire::kSlotCount);
  while (slots_.size() < used) {
    const auto index = static_cast<uint32_t>(slots_.size());
    slots_.emplace_back().ring = {&wire::thread_slot(memory_.base(), index)->ring,
                                  wire::thread_ring_buffer(memory_.base(), index)};
  }
  filled_.clear();
  for (uint32_t index = 0; index < slots_.size(); ++index) {
    Slot& slot = slots_[index];
    const uint64_t head = slot.ring.head();
    if (head == slot.limit) continue;
    drained.fullest = std::max(drained.fullest, share(head - slot.limit, wire::kThreadRingSize));
    slot.limit = head;
    filled_.push_back(index);
  }
}

void TargetProcess::drain_process_ring(Drained& drained) {
  const uint64_t head = process_ring_.head();
  drained.fullest = std::max(drained.fullest, share(head - process_limit_, wire::kProcessRingSize));
  process_limit_ = head;
  wire::RingReader::Record record;
  while (process_ring_.next(head, record)) {
    ++drained.records;
    if (!read_process_record(record.type, copy(record.payload))) {
      count_loss(wire::Loss::kRingCorrupt);
    }
  }
}

void TargetProcess::drain_thread_ring(Slot& slot, Drained& drained) {
  wire::RingReader::Record record;
  while (slot.ring.next(slot.limit, record)) {
    ++drained.records;
    if (!read_thread_record(slot, record.type, copy(record.payload))) {
      count_loss(wire::Loss::kRingCorrupt);
    }
  }
  if (slot.ring.corrupt() != slot.corrupt) {
    slot.corrupt = slot.ring.corrupt();
    slot.samples.forget();
    count_loss(wire::Loss::kRingCorrupt);
  }
}

bool TargetProcess::read_process_record(uint8_t type, Payload payload) {
  switch (static_cast<wire::RecordType>(type)) {
    case wire::RecordType::kModuleLoad:
      if (const auto record = decode_module_load(payload)) return stacks_.load(*record), true;
      return false;
    case wire::RecordType::kModuleUnload:
      if (const auto record = decode_module_unload(payload)) return stacks_.unload(*record), true;
      return false;
    case wire::RecordType::kThreadName:
      if (auto record = decode_thread_name(payload)) {
        return names_.push_back(std::move(*record)), true;
      }
      return false;
    case wire::RecordType::kThreadCpu:
      if (const auto record = decode_thread_cpu(payload)) {
        clocks_at_exit_[record->tid] = record->cpu_ns;
        return true;
      }
      return false;
    case wire::RecordType::kExit: exit_ = decode_exit(payload); return exit_.has_value();
    case wire::RecordType::kExec:
    case wire::RecordType::kExecFailed: return true;  // the next Hello of this pid tells better
    default: return false;
  }
}

bool TargetProcess::read_thread_record(Slot& slot, uint8_t type, Payload payload) {
  switch (static_cast<wire::RecordType>(type)) {
    case wire::RecordType::kThreadStart:
      if (const auto record = decode_thread_start(payload)) return start_thread(slot, *record);
      return false;
    case wire::RecordType::kSample: return add_sample(slot, payload);
    case wire::RecordType::kThreadEnd:
      if (const auto record = decode_thread_end(payload); record && slot.thread) {
        const bool known = record->cpu_ns != 0;
        slot.thread->left_out_ns = std::max(slot.thread->left_out_ns, record->left_out_ns);
        end_thread(slot, record->time_ns, known ? std::optional(record->cpu_ns) : std::nullopt);
        return true;
      }
      return false;
    default: return false;
  }
}

bool TargetProcess::start_thread(Slot& slot, const ThreadStartRecord& record) {
  if (slot.thread) end_thread(slot, record.time_ns, std::nullopt);
  recording::Thread thread;
  thread.process = row_;
  thread.tid = record.tid;
  thread.start_ns = session_time(record.time_ns);
  thread.name = record.name;
  slot.samples.forget();
  SampledThread& sampled = slot.thread.emplace();
  sampled.row = writer_.add(thread);
  sampled.tid = record.tid;
  sampled.start_clock_ns = sampled.clock_ns = record.cpu_ns;
  thread_rows_[record.tid] = sampled.row;
  ++threads_seen_;
  return true;
}

bool TargetProcess::add_sample(Slot& slot, Payload payload) {
  const std::optional<SampleRecord> record = slot.samples.decode(payload);
  if (!record || !slot.thread) return false;
  SampledThread& thread = *slot.thread;
  recording::Sample sample;
  sample.thread = thread.row;
  sample.time_ns = session_time(record->time_ns);
  sample.weight_ns = thread.weigh(*record, period_ns(slot));
  sample.stop = record->stop;
  sample.stack =
      stacks_.row(thread.previous, slot.samples.stack(), slot.samples.shared(), record->time_ns);
  writer_.add(sample);
  return true;
}

// Of the thread's clock, as the thread says.
uint64_t TargetProcess::period_ns(const Slot& slot) const {
  const auto index = static_cast<uint32_t>(&slot - slots_.data());
  const uint32_t rate_hz =
      wire::thread_slot(memory_.base(), index)->rate_hz.load(std::memory_order_relaxed);
  return 1'000'000'000 / std::clamp(rate_hz, 1u, wire::kHighestRateHz);
}

void TargetProcess::end_thread(Slot& slot, uint64_t time_ns, std::optional<uint64_t> clock_ns) {
  recording::ThreadEnd end;
  end.thread = slot.thread->row;
  end.time_ns = session_time(time_ns);
  if (clock_ns) end.cpu_ns = slot.thread->used_ns(*clock_ns);
  writer_.add(end);
  markers_.thread_ended(slot.thread->row, time_ns);
  ended_clocks_ns_ += clock_ns.value_or(slot.thread->clock_ns);
  left_out_ns_ += slot.thread->left_out_ns;
  slot.thread.reset();
}

uint32_t TargetProcess::thread_row(pid_t tid) const {
  const auto found = thread_rows_.find(tid);
  return found == thread_rows_.end() ? recording::kNone : found->second;
}

void TargetProcess::apply_names() {
  std::erase_if(names_, [this](const ThreadNameRecord& record) {
    const auto found = thread_rows_.find(record.tid);
    if (found == thread_rows_.end()) return false;
    writer_.add({found->second, session_time(record.time_ns), record.name});
    return true;
  });
  if (names_.size() > kMaxWaitingNames) {
    for (size_t i = 0; i < names_.size(); ++i) count_loss(wire::Loss::kNameRecord);
    names_.clear();
  }
}

uint64_t TargetProcess::clock_at_end(const SampledThread& thread) const {
  const auto found = clocks_at_exit_.find(thread.tid);
  return std::max(thread.clock_ns, found != clocks_at_exit_.end() ? found->second : 0);
}

uint64_t TargetProcess::recorded_cpu_ns() const {
  uint64_t sum = ended_clocks_ns_;
  for (const Slot& slot : slots_) {
    if (slot.thread) sum += clock_at_end(*slot.thread);
  }
  return sum;
}

std::vector<MarkerRecorder::LiveThread> TargetProcess::live_threads() const {
  std::vector<MarkerRecorder::LiveThread> live;
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].thread) live.push_back({i, slots_[i].thread->row});
  }
  return live;
}

void TargetProcess::note_left_out(uint32_t slot) {
  SampledThread& thread = *slots_[slot].thread;
  thread.left_out_ns = std::max(
      thread.left_out_ns,
      wire::thread_slot(memory_.base(), slot)->left_out_ns.load(std::memory_order_relaxed));
}

void TargetProcess::end_segment(uint64_t time_ns) {
  markers_.end_segment(live_threads(), time_ns);
  write_losses();
  uint64_t sampled_ns = ended_clocks_ns_, left_out_ns = left_out_ns_, not_sampled_ns = 0;
  for (const Slot& slot : slots_) {
    if (!slot.thread) continue;
    const SampledThread& thread = *slot.thread;
    writer_.account(
        recording::ThreadEnd{thread.row, session_time(time_ns), thread.used_ns(thread.clock_ns)});
    const uint64_t clock_ns = thread_cpu_ns(origin_.pid, thread.tid).value_or(thread.clock_ns);
    not_sampled_ns += clock_ns - std::min(clock_ns, thread.clock_ns);
    sampled_ns += thread.clock_ns;
    left_out_ns += thread.left_out_ns;
  }
  uint64_t clock_ns = process_cpu_ns(origin_.pid).value_or(0);
  clock_ns = std::max(clock_ns - std::min(clock_ns, not_sampled_ns), sampled_ns);
  recording::ProcessEnd so_far;
  so_far.process = row_;
  so_far.time_ns = session_time(time_ns);
  so_far.cpu_ns = clock_ns - std::min(clock_ns, origin_.start_clock_ns + left_out_ns);
  so_far.lives_on = true;
  writer_.account(so_far);
  forget_ended_threads();
}

void TargetProcess::forget_ended_threads() {
  for (const auto& [tid, row] : ended_threads_) {
    const auto found = thread_rows_.find(tid);
    if (found != thread_rows_.end() && found->second == row) thread_rows_.erase(found);
  }
  std::unordered_set<uint32_t> live;
  for (const MarkerRecorder::LiveThread& thread : live_threads()) live.insert(thread.row);
  ended_threads_.clear();
  for (const auto& [tid, row] : thread_rows_) {
    if (!live.contains(row)) ended_threads_.emplace_back(tid, row);
  }
}

void TargetProcess::leave(uint64_t time_ns) {
  drain();
  markers_.finish(live_threads(), time_ns);
  write_losses();
}

ExitState TargetProcess::finish(const End& end) {
  drain();
  markers_.finish(live_threads(), end.time_ns);
  // What the kernel last said may be a while ago; the threads' own clocks may know more.
  const uint64_t clock = std::max(end.cpu_clock_ns.value_or(0), recorded_cpu_ns());
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (!slot.thread) continue;
    note_left_out(i);
    std::optional<uint64_t> thread_clock;
    if (clocks_at_exit_.contains(slot.thread->tid)) {
      thread_clock = clock_at_end(*slot.thread);
    } else if (threads_seen_ == 1 && end.cpu_clock_ns && origin_.start_clock_ns == 0) {
      thread_clock = clock;  // killed, but it was the only thread: the process's clock is its own
    }
    end_thread(slot, end.time_ns, thread_clock);
  }
  write_losses();
  recording::ProcessEnd row;
  row.process = row_;
  row.time_ns = session_time(end.time_ns);
  row.cpu_ns = clock - std::min(clock, origin_.start_clock_ns + left_out_ns_);
  ExitState exit = end.exit;
  if (!exit.status && !exit.signal && exit_ && !end.replaced) exit.status = exit_->status & 0xff;
  row.exit_status = exit.status;
  row.exit_signal = exit.signal;
  row.replaced = end.replaced;
  writer_.add(row);
  return exit;
}

void TargetProcess::write_losses() {
  recording::Losses losses;
  losses.process = row_;
  const wire::ControlBlock* control = wire::control_block(memory_.base());
  for (unsigned i = 0; i < wire::kLossCount; ++i) {
    losses.count[i] = own_losses_[i] + control->losses[i].load(std::memory_order_relaxed);
  }
  // Counted by the rings themselves.
  uint64_t& full = losses.count[static_cast<size_t>(wire::Loss::kRingFull)];
  full = 0;
  for (const Slot& slot : slots_) full += slot.ring.dropped();
  markers_.add_losses(&losses);
  if (std::ranges::equal(losses.count, written_losses_.count)) return;
  writer_.add(losses);
  written_losses_ = losses;
}

void TargetProcess::disable() {
  wire::control_block(memory_.base())->enabled.store(0, std::memory_order_relaxed);
}

void TargetProcess::set_rate(uint32_t rate_hz) {
  wire::control_block(memory_.base())->rate_hz.store(rate_hz, std::memory_order_relaxed);
}

uint64_t TargetProcess::cost_ns(const SignalCost& signal) const {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    const wire::ThreadSlot& slot = *wire::thread_slot(memory_.base(), i);
    sum += slot.handler_ns.load(std::memory_order_relaxed) +
           slot.timer_signals.load(std::memory_order_relaxed) * signal.timer_ns +
           slot.perf_signals.load(std::memory_order_relaxed) * signal.perf_ns;
  }
  return sum;
}

bool TargetProcess::sampling() const {
  return wire::control_block(memory_.base())->paused.load(std::memory_order_relaxed) == 0 &&
         markers_.sections_allow_sampling();
}

void TargetProcess::set_paused(bool paused, uint64_t time_ns) {
  auto& shared = wire::control_block(memory_.base())->paused;
  if (shared.exchange(paused, std::memory_order_relaxed) == static_cast<uint32_t>(paused)) return;
  markers_.switched(paused, time_ns);
}

uint64_t TargetProcess::session_time(uint64_t monotonic_ns) const {
  return monotonic_ns > origin_.session_start_ns ? monotonic_ns - origin_.session_start_ns : 0;
}

Payload TargetProcess::copy(Payload payload) {
  copy_.assign(payload.begin(), payload.end());
  return copy_;
}

}  // namespace sampan::sampler
