#include "sampler/rings/shim_process.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_set>

#include "base/clock.h"
#include "sampler/process/proc_task.h"
#include "sampler/process/remote_memory.h"
#include "wire/record.h"

namespace sampan::sampler {
namespace {

// Bounds the names that came before their thread and wait for the next round.
constexpr size_t kMaxWaitingNames = 16384;

double share(uint64_t used, size_t capacity) {
  return static_cast<double>(used) / static_cast<double>(capacity);
}

}  // namespace

ShimProcess::ShimProcess(recording::Writer& writer, const Origin& origin, SharedMemory memory)
    : RecordedProcess(writer, origin.clock, origin.pid, origin.parent_pid, Threads::kWhole),
      memory_(std::make_shared<SharedMemory>(std::move(memory))),
      process_ring_(&wire::control_block(memory_->base())->process_ring,
                    wire::process_ring_buffer(memory_->base())),
      markers_(writer, memory_->base(), memory_->shape().slots,
               {begin_image(origin.executable, origin.start_ns, origin.start_clock_ns),
                origin.clock, origin.start_ns, origin.switches},
               thread_rows_),
      heap_(writer),
      locks_(writer, stacks(), {row(), origin.clock}),
      from_its_start_(origin.start_clock_ns == 0),
      has_python_(origin.python),
      roots_(origin.roots),
      kept_(origin.kept),
      first_root_(origin.root),
      root_(origin.root) {
  const wire::ControlBlock& control = *wire::control_block(memory_->base());
  const auto note = [&](recording::Watched what, const std::atomic<uint64_t>& shared) {
    const uint64_t setting = shared.load(std::memory_order_relaxed);
    if (setting == 0) return;
    writer.add(recording::WatchChange{row(), session_time(origin.start_ns), what, setting});
  };
  note(recording::Watched::kHeap, control.heap_mean);
  note(recording::Watched::kLocks, control.lock_limit_ns);
}

ShimProcess::Outside& ShimProcess::outside() {
  if (!outside_) outside_ = std::make_unique<Outside>(pid());
  return *outside_;
}

// What the shim does not see: parts of files that the program has mapped itself, and what dlmopen has loaded.
void ShimProcess::refresh_modules(MonotonicNs time_ns) {
  const ProcessModules::Changes changes = modules().refresh(time_ns);
  for (const ModuleUnloadRecord& record : changes.unloaded) {
    if (unannounced_.erase(record.start_avma) != 0) stacks().unload(record);
  }
  for (const ModuleLoadRecord& record : changes.loaded) {
    if (!record.part && stacks().has_module(record.start_avma, time_ns)) continue;
    if (unannounced_.insert(record.first_avma()).second) stacks().load(record);
  }
  if (has_python_ && !changes.empty()) outside().python.look();
}

bool ShimProcess::find_code(MonotonicNs time_ns) {
  const MonotonicNs now_ns = monotonic_ns();
  if (now_ns < next_search_ns_) return false;
  const std::set<uint64_t> before = unannounced_;
  refresh_modules(time_ns);
  const bool found = unannounced_ != before;
  search_pause_ns_ =
      found ? kShortestSearchPause : std::min(2 * search_pause_ns_, kLongestSearchPause);
  next_search_ns_ = now_ns + search_pause_ns_;
  return found;
}

ShimProcess::Drained ShimProcess::read_rings() {
  Drained drained;
  drained.fullest = markers_.note_heads(monotonic_ns());
  note_heads(drained);
  drain_process_ring(drained);
  for (const uint32_t index : filled_) drain_thread_ring(slots_[index], drained);
  read_late_frees();
  heap_.end_round();
  apply_names();
  drained.records += markers_.drain();
  locks_.end_round(monotonic_ns());
  return drained;
}

void ShimProcess::read_late_frees() {
  wire::LateFrees& frees = *wire::late_frees(memory_->base(), memory_->shape().slots);
  const uint64_t count = frees.count();
  if (std::exchange(late_frees_, count) == count) return;
  const SessionNs now_ns = session_time(monotonic_ns());
  frees.take([&](uint64_t id) {
    if (const auto loss = heap_.add_late(id, now_ns)) count_loss(*loss);
  });
}

void ShimProcess::note_heads(Drained& drained) {
  const uint32_t used =
      std::min(wire::control_block(memory_->base())->slots_used.load(std::memory_order_acquire),
               memory_->shape().slots);
  while (slots_.size() < used) {
    const auto index = static_cast<uint32_t>(slots_.size());
    slots_.emplace_back().ring = {&wire::thread_slot(memory_->base(), index)->ring,
                                  wire::thread_ring_buffer(memory_->base(), index)};
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

void ShimProcess::drain_process_ring(Drained& drained) {
  const uint64_t head = process_ring_.head();
  drained.fullest = std::max(drained.fullest, share(head - process_limit_, wire::kProcessRingSize));
  process_limit_ = head;
  root_is_fresh_ = false;
  wire::RingReader::Record record;
  while (process_ring_.next(head, record)) {
    ++drained.records;
    if (!read_process_record(record.type, copy(record.payload))) {
      count_loss(wire::Loss::kRingCorrupt);
    }
  }
}

void ShimProcess::drain_thread_ring(Slot& slot, Drained& drained) {
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

bool ShimProcess::read_process_record(uint8_t type, Payload payload) {
  switch (static_cast<wire::RecordType>(type)) {
    case wire::RecordType::kModuleLoad:
      if (auto record = decode_module_load(payload)) return load(std::move(*record)), true;
      return false;
    case wire::RecordType::kModuleUnload:
      if (const auto record = decode_module_unload(payload)) return stacks().unload(*record), true;
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
    case wire::RecordType::kExecFailed: return true;  // the next Hello of this pid is what counts
    default: return false;
  }
}

void ShimProcess::load(ModuleLoadRecord record) {
  if (roots_ != nullptr) place(&record);
  if (kept_ != nullptr && root_ == nullptr) kept_->keep_loaded(pid(), record);
  stacks().load(record);
}

// The program may have changed its root since it began, and the module be of the time before.
void ShimProcess::place(ModuleLoadRecord* record) {
  // The shim knows the program's path from /proc, which may not be there. The kernel says it as we see it.
  const bool is_ours = record->path.empty();
  if (is_ours) record->path = executable_of(pid());
  if (!std::exchange(root_is_fresh_, true)) {
    if (const ProcessRoot::Seen now = ProcessRoot::of(pid())) root_ = *now;
  }
  if (root_ == nullptr || (is_ours && !root_->place().empty())) return;
  const std::string named = record->path;
  const bool is_first = first_root_ != nullptr && first_root_->id() == root_->id();
  if (roots_->place(pid(), *root_, record) || is_first) return;
  record->path = named;
  if (first_root_ != nullptr) roots_->place(pid(), *first_root_, record);
}

bool ShimProcess::read_thread_record(Slot& slot, uint8_t type, Payload payload) {
  switch (static_cast<wire::RecordType>(type)) {
    case wire::RecordType::kThreadStart:
      if (const auto record = decode_thread_start(payload)) return start_thread(slot, *record);
      return false;
    case wire::RecordType::kSample: return read_sample(slot, payload);
    case wire::RecordType::kAllocation: return read_allocation(slot, payload);
    case wire::RecordType::kFree: return read_free(slot, payload);
    case wire::RecordType::kPythonCode:
      if (auto record = decode_python_code(payload)) return stacks().add(std::move(*record)), true;
      return false;
    case wire::RecordType::kPythonTask:
      if (auto record = decode_python_task(payload)) {
        return slot.steps.announce(std::move(*record)), true;
      }
      return false;
    case wire::RecordType::kLockWait: return read_lock_wait(slot, payload);
    case wire::RecordType::kRelease: return read_release(slot, payload);
    case wire::RecordType::kLockOrigin:
      if (const auto record = decode_lock_origin(payload)) return locks_.add(*record), true;
      return false;
    case wire::RecordType::kThreadEnd:
      if (const auto record = decode_thread_end(payload); record && slot.thread) {
        const bool known = record->cpu_ns != 0;
        slot.thread->left_out_ns = std::max(slot.thread->left_out_ns, record->left_out_ns);
        end_thread_of(slot, record->time_ns, known ? std::optional(record->cpu_ns) : std::nullopt);
        return true;
      }
      return false;
    default: return false;
  }
}

bool ShimProcess::start_thread(Slot& slot, const ThreadStartRecord& record) {
  if (slot.thread) end_thread_of(slot, record.time_ns, std::nullopt);
  slot.samples.forget();
  slot.steps = {};
  slot.thread = begin_thread(record.tid, record.time_ns, record.cpu_ns, record.name);
  thread_rows_[record.tid] = slot.thread->row;
  slot_of_[record.tid] = static_cast<uint32_t>(&slot - slots_.data());
  ++threads_seen_;
  return true;
}

bool ShimProcess::read_sample(Slot& slot, Payload payload) {
  const std::optional<SampleRecord> record = slot.samples.decode(payload);
  if (!record || !slot.thread) return false;
  add_sample(*slot.thread, *record, period_ns(slot), slot.samples.stack(), slot.samples.shared());
  slot.steps.add(writer(), slot.thread->row, *record, session_time(record->time_ns));
  return true;
}

bool ShimProcess::read_allocation(Slot& slot, Payload payload) {
  const std::optional<AllocationRecord> record = slot.samples.decode_allocation(payload);
  if (!record || !slot.thread) return false;
  recording::Allocation row;
  row.thread = slot.thread->row;
  row.stack = stack_row(*slot.thread, slot.samples.stack(), slot.samples.shared(), record->time_ns);
  row.time_ns = session_time(record->time_ns);
  row.id = record->id;
  row.size = record->size;
  row.mean = record->mean;
  row.kind = record->kind;
  row.stop = record->stop;
  if (const auto loss = heap_.add(row)) count_loss(*loss);
  return true;
}

bool ShimProcess::read_free(Slot& slot, Payload payload) {
  const std::optional<FreeRecord> record = slot.samples.decode_free(payload);
  if (!record || !slot.thread) return false;
  recording::Free row;
  row.thread = slot.thread->row;
  row.stack = stack_row(*slot.thread, slot.samples.stack(), slot.samples.shared(), record->time_ns);
  row.time_ns = session_time(record->time_ns);
  row.id = record->id;
  row.stop = record->stop;
  if (const auto loss = heap_.add(row)) count_loss(*loss);
  return true;
}

// The place of the record that was decoded last.
LockRecorder::Place ShimProcess::place_of(Slot& slot, MonotonicNs time_ns) {
  return {slot.thread->row,
          stack_row(*slot.thread, slot.samples.stack(), slot.samples.shared(), time_ns)};
}

bool ShimProcess::read_lock_wait(Slot& slot, Payload payload) {
  const std::optional<LockWaitRecord> record = slot.samples.decode_lock_wait(payload);
  if (!record || !slot.thread) return false;
  locks_.add(*record, place_of(slot, record->begin_ns));
  return true;
}

bool ShimProcess::read_release(Slot& slot, Payload payload) {
  const std::optional<ReleaseRecord> record = slot.samples.decode_release(payload);
  if (!record || !slot.thread) return false;
  locks_.add(*record, place_of(slot, record->time_ns));
  return true;
}

// Between two expiries of the thread's timer, as the thread says.
uint64_t ShimProcess::period_ns(const Slot& slot) const {
  const auto index = static_cast<uint32_t>(&slot - slots_.data());
  const uint32_t rate_hz =
      wire::thread_slot(memory_->base(), index)->rate_hz.load(std::memory_order_relaxed);
  return 1'000'000'000 / std::clamp(rate_hz, 1u, wire::kHighestRateHz);
}

void ShimProcess::end_thread_of(Slot& slot, MonotonicNs time_ns, std::optional<CpuNs> clock_ns) {
  slot.steps.close(writer());
  end_thread(*slot.thread, time_ns, clock_ns);
  markers_.thread_ended(slot.thread->row, time_ns);
  slot_of_.erase(slot.thread->tid);
  slot.thread.reset();
}

uint32_t ShimProcess::thread_row(pid_t tid) const {
  const auto found = thread_rows_.find(tid);
  return found == thread_rows_.end() ? recording::kNone : found->second;
}

// The library's record is read as the handler reads it, of a thread that waits meanwhile.
wire::TraceContext ShimProcess::context_of(pid_t tid) const {
  const auto slot = slot_of_.find(tid);
  if (slot == slot_of_.end()) return {};
  const wire::ShownContext& shown = wire::thread_slot(memory_->base(), slot->second)->context;
  wire::TraceContext own;
  if (!shown.read(own)) return {};
  const uint64_t pointer = shown.otel_avma.load(std::memory_order_relaxed);
  uint64_t avma = 0;
  std::array<uint8_t, wire::OtelRecord::kSize> bytes{};
  if (pointer == 0 || read_process(pid(), Avma::at(pointer), &avma, sizeof avma) != sizeof avma ||
      avma == 0 ||
      read_process(pid(), Avma::at(avma), bytes.data(), bytes.size()) != bytes.size()) {
    return own;
  }
  wire::OtelRecord record{};
  std::memcpy(record.ids.data(), bytes.data(), sizeof record.ids);
  record.valid = bytes[wire::OtelRecord::kValidOffset];
  return wire::context_of(record, own);
}

void ShimProcess::apply_names() {
  std::erase_if(names_, [this](const ThreadNameRecord& record) {
    const auto found = thread_rows_.find(record.tid);
    if (found == thread_rows_.end()) return false;
    writer().add({found->second, session_time(record.time_ns), record.name});
    return true;
  });
  if (names_.size() > kMaxWaitingNames) {
    for (size_t i = 0; i < names_.size(); ++i) count_loss(wire::Loss::kNameRecord);
    names_.clear();
  }
}

std::vector<MarkerRecorder::LiveThread> ShimProcess::live_slots() const {
  std::vector<MarkerRecorder::LiveThread> live;
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].thread) live.push_back({i, slots_[i].thread->row});
  }
  return live;
}

std::vector<const SampledThread*> ShimProcess::live_threads() const {
  std::vector<const SampledThread*> live;
  for (const Slot& slot : slots_) {
    if (slot.thread) live.push_back(&*slot.thread);
  }
  return live;
}

void ShimProcess::note_left_out(uint32_t slot) {
  SampledThread& thread = *slots_[slot].thread;
  thread.left_out_ns = std::max(
      thread.left_out_ns,
      wire::thread_slot(memory_->base(), slot)->left_out_ns.load(std::memory_order_relaxed));
}

void ShimProcess::end_segment(MonotonicNs time_ns) {
  close_steps();
  locks_.end_segment();
  markers_.end_segment(live_slots(), time_ns);
  write_losses();
  account_segment(time_ns);
  forget_ended_threads();
}

void ShimProcess::forget_ended_threads() {
  for (const auto& [tid, row] : ended_threads_) {
    const auto found = thread_rows_.find(tid);
    if (found != thread_rows_.end() && found->second == row) thread_rows_.erase(found);
  }
  std::unordered_set<uint32_t> live;
  for (const MarkerRecorder::LiveThread& thread : live_slots()) live.insert(thread.row);
  ended_threads_.clear();
  for (const auto& [tid, row] : thread_rows_) {
    if (!live.contains(row)) ended_threads_.emplace_back(tid, row);
  }
}

void ShimProcess::close_steps() {
  for (Slot& slot : slots_) slot.steps.close(writer());
}

void ShimProcess::leave(MonotonicNs time_ns) {
  read_rings();
  close_steps();
  locks_.end_segment();
  markers_.finish(live_slots(), time_ns);
  name_rest_of_code();
  write_losses();
}

ExitState ShimProcess::finish(const End& end) {
  read_rings();
  locks_.end_segment();
  markers_.finish(live_slots(), end.time_ns);
  read_clock();
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (!slot.thread) continue;
    note_left_out(i);
    std::optional<CpuNs> clock;
    if (const auto found = clocks_at_exit_.find(slot.thread->tid); found != clocks_at_exit_.end()) {
      clock = found->second;
    } else if (threads_seen_ == 1 && clock_ns() != 0 && from_its_start_) {
      clock = clock_ns();  // killed, but it was the only thread: the process's clock is its own
    }
    end_thread_of(slot, end.time_ns, clock);
  }
  ExitState exit = end.exit;
  if (!exit.known() && exit_ && !end.replaced) exit.status = exit_->status & 0xff;
  end_image(end.time_ns, exit, end.replaced, false);
  return exit;
}

void ShimProcess::add_losses(recording::Losses* losses) const {
  const wire::ControlBlock* control = wire::control_block(memory_->base());
  for (unsigned i = 0; i < wire::kLossCount; ++i) {
    losses->count[i] += control->losses[i].load(std::memory_order_relaxed);
  }
  // Counted by the rings themselves.
  uint64_t& full = losses->count[static_cast<size_t>(wire::Loss::kRingFull)];
  full = 0;
  for (const Slot& slot : slots_) full += slot.ring.dropped();
  losses->count[static_cast<size_t>(wire::Loss::kLockWaitLost)] += locks_.lost();
  markers_.add_losses(losses);
}

void ShimProcess::disable() {
  wire::control_block(memory_->base())->enabled.store(0, std::memory_order_relaxed);
}

void ShimProcess::set_rate(uint32_t rate_hz) {
  wire::control_block(memory_->base())->rate_hz.store(rate_hz, std::memory_order_relaxed);
}

uint64_t ShimProcess::cost_ns(const SignalCost& signal) const {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    const wire::ThreadSlot& slot = *wire::thread_slot(memory_->base(), i);
    sum += slot.handler_ns.load(std::memory_order_relaxed) +
           slot.timer_signals.load(std::memory_order_relaxed) * signal.timer_ns +
           slot.perf_signals.load(std::memory_order_relaxed) * signal.perf_ns +
           slot.beats.load(std::memory_order_relaxed) * signal.beat_ns;
  }
  return sum;
}

wire::Outside ShimProcess::asks() const {
  return wire::control_block(memory_->base())->outside.load(std::memory_order_relaxed);
}

bool ShimProcess::sampling() const {
  return wire::control_block(memory_->base())->paused.load(std::memory_order_relaxed) == 0 &&
         markers_.sections_allow_sampling();
}

void ShimProcess::set_watched(recording::Watched what, uint64_t setting, MonotonicNs time_ns) {
  wire::ControlBlock& control = *wire::control_block(memory_->base());
  auto& shared = what == recording::Watched::kHeap ? control.heap_mean : control.lock_limit_ns;
  if (shared.exchange(setting, std::memory_order_relaxed) == setting) return;
  writer().add(recording::WatchChange{row(), session_time(time_ns), what, setting});
}

void ShimProcess::set_paused(bool paused, MonotonicNs time_ns) {
  auto& shared = wire::control_block(memory_->base())->paused;
  if (shared.exchange(paused, std::memory_order_relaxed) == static_cast<uint32_t>(paused)) return;
  markers_.switched(paused, time_ns);
}

Payload ShimProcess::copy(Payload payload) {
  copy_.assign(payload.begin(), payload.end());
  return copy_;
}

}  // namespace sampan::sampler
