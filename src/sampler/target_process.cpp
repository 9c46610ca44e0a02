#include "sampler/target_process.h"

#include <algorithm>

#include "wire/record.h"

namespace sampan::sampler {
namespace {

// Names that came before their thread are kept for the next round, but not without end.
constexpr size_t kMaxWaitingNames = 16384;

double share(uint64_t used, size_t capacity) {
  return static_cast<double>(used) / static_cast<double>(capacity);
}

}  // namespace

TargetProcess::TargetProcess(recording::Writer& writer, const Origin& origin, SharedMemory memory)
    : writer_(writer),
      origin_(origin),
      memory_(std::move(memory)),
      process_ring_(&wire::control_block(memory_.base())->process_ring,
                    wire::process_ring_buffer(memory_.base())),
      stacks_(writer) {
  recording::Process process;
  process.pid = origin.pid;
  process.parent_pid = origin.parent_pid;
  process.start_ns = session_time(origin.start_ns);
  process.name = origin.executable;
  row_ = writer_.add(process);
  written_losses_.process = row_;
}

TargetProcess::Drained TargetProcess::drain() {
  Drained drained;
  note_heads(drained);
  drain_process_ring(drained);
  for (Slot& slot : slots_) drain_thread_ring(slot, drained);
  apply_names();
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
  for (Slot& slot : slots_) {
    const uint64_t head = slot.ring.head();
    drained.fullest = std::max(drained.fullest, share(head - slot.limit, wire::kThreadRingSize));
    slot.limit = head;
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
  sample.weight_ns = thread.weigh(*record, origin_.period_ns);
  sample.stop = record->stop;
  sample.stack =
      stacks_.row(thread.previous, slot.samples.stack(), slot.samples.shared(), record->time_ns);
  writer_.add(sample);
  return true;
}

void TargetProcess::end_thread(Slot& slot, uint64_t time_ns, std::optional<uint64_t> clock_ns) {
  recording::ThreadEnd end;
  end.thread = slot.thread->row;
  end.time_ns = session_time(time_ns);
  if (clock_ns) end.cpu_ns = slot.thread->used_ns(*clock_ns);
  writer_.add(end);
  ended_clocks_ns_ += clock_ns.value_or(slot.thread->clock_ns);
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

ExitState TargetProcess::finish(const End& end) {
  drain();
  // What the kernel last said may be a while ago; the threads' own clocks may know more.
  const uint64_t clock = std::max(end.cpu_clock_ns.value_or(0), recorded_cpu_ns());
  for (Slot& slot : slots_) {
    if (!slot.thread) continue;
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
  row.cpu_ns = clock - std::min(clock, origin_.start_clock_ns);
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
  if (std::ranges::equal(losses.count, written_losses_.count)) return;
  writer_.add(losses);
  written_losses_ = losses;
}

void TargetProcess::disable() {
  wire::control_block(memory_.base())->enabled.store(0, std::memory_order_relaxed);
}

uint64_t TargetProcess::session_time(uint64_t monotonic_ns) const {
  return monotonic_ns > origin_.session_start_ns ? monotonic_ns - origin_.session_start_ns : 0;
}

Payload TargetProcess::copy(Payload payload) {
  copy_.assign(payload.begin(), payload.end());
  return copy_;
}

}  // namespace sampan::sampler
