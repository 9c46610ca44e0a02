#include "preload/threads/threads.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "base/byte_writer.h"
#include "base/clock.h"
#include "base/syscall.h"
#include "preload/process/process.h"
#include "preload/process/shared_memory.h"
#include "preload/signals/alternate_stack.h"
#include "preload/support/growing_memory.h"
#include "preload/support/machine.h"
#include "wire/control_block.h"
#include "wire/record.h"

namespace sampan::preload {
namespace {

using wire::RecordType;

// A slot's private memory: a guard page, the alternate stack, and what a sample needs. It is mapped
// when the slot is first used, and kept.
constexpr size_t kGuardSize = wire::kPage;
constexpr size_t kAlternateStackSize = size_t{64} << 10;
constexpr size_t kFramesSize = wire::kMaxFrames * sizeof(uint64_t);
constexpr size_t kPrivateSize = kGuardSize + kAlternateStackSize + 4 * kFramesSize +
                                sizeof(ReadablePages) + sizeof(unwind::LastWalk);

constexpr int32_t kFree = 0;
constexpr int32_t kClaimed = -1;

// Apart from the states, so that a search touches little memory.
constinit std::atomic<int32_t> tids[wire::kMostSlots];
constinit std::atomic<uint32_t> used;
// Where a tid was last found: each call that changes a mask asks, and there may be thousands of slots.
constexpr uint32_t kHints = 4096;
constinit std::atomic<uint16_t> hints[kHints];
static_assert(wire::kMostSlots <= UINT16_MAX + 1);
// By slot. Zeroes: the pages of unused states are never touched. Not among the shim's own data: LeakSanitizer looks there for
// pointers, and the program's memory that a state knows (an alternate stack, a thread's argument) would never be lost.
constinit ThreadState* states;
constinit GrowingMemory states_memory;
std::atomic<uint64_t> ended_cpu_ns;

bool map_private_memory(ThreadState& thread) {
  const long mapped = raw_syscall(SYS_mmap, nullptr, kPrivateSize, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped < 0 && mapped > -4096) return false;
  raw_syscall(SYS_mprotect, mapped, kGuardSize, PROT_NONE);
  // The program may have locked what it will have (mlockall). This is not to count for its limit.
  raw_syscall(SYS_munlock, mapped, kPrivateSize);
  auto* memory = reinterpret_cast<uint8_t*>(mapped) + kGuardSize;
  auto* frames = reinterpret_cast<uint64_t*>(memory + kAlternateStackSize);
  thread.alternate_stack = {memory, kAlternateStackSize};
  thread.samples.frames = {frames, wire::kMaxFrames};
  thread.samples.previous = {frames + wire::kMaxFrames, wire::kMaxFrames};
  thread.samples.python.native = {frames + 2 * wire::kMaxFrames, wire::kMaxFrames};
  thread.samples.python.cfas = {frames + 3 * wire::kMaxFrames, wire::kMaxFrames};
  auto* pages = reinterpret_cast<ReadablePages*>(frames + 4 * wire::kMaxFrames);
  thread.samples.python.pages = pages;
  thread.samples.last_walk = reinterpret_cast<unwind::LastWalk*>(pages + 1);
  return true;
}

bool map_state(uint32_t slot) {
  return states_memory.reach((slot + 1) * sizeof(ThreadState),
                             !this_process.seccomp_filtered.load(std::memory_order_relaxed));
}

bool prepare(ThreadState& thread, uint32_t slot) {
  if (thread.alternate_stack.empty() && !map_private_memory(thread)) return false;
  thread.slot = slot;
  thread.tid = 0;
  thread.pthread = 0;
  thread.busy.store(false, std::memory_order_relaxed);
  thread.clock.slot = slot;
  thread.clock.rate_hz = 0;
  thread.clock.armed = kNoClock;
  drum_clock::begin(thread.clock);
  prepare_samples(thread.samples, slot, this_process.shared);
  memset(static_cast<void*>(&thread.signals), 0, sizeof thread.signals);
  thread.start = {};
  thread.destructor_rounds = 0;
  thread.dispatched = thread.was_dispatched = thread.has_ended = false;
  prepare_markers(thread.markers, slot, thread.samples);
  return true;
}

void raise_to(std::atomic<uint32_t>& value, uint32_t least) {
  uint32_t now = value.load(std::memory_order_relaxed);
  while (now < least && !value.compare_exchange_weak(now, least, std::memory_order_release)) {
  }
}

template <typename Matches>
ThreadState* find(Matches&& matches) {
  const uint32_t count = slots_used();
  for (uint32_t slot = 0; slot < count; ++slot) {
    const int32_t tid = tids[slot].load(std::memory_order_acquire);
    if (tid > 0 && matches(tid, states[slot])) return &states[slot];
  }
  return nullptr;
}

void write_start(ThreadState& thread, uint64_t cpu_ns, const char* name) {
  const std::span<uint8_t> room = thread.samples.ring.begin(4 + 8 + 8 + wire::kThreadNameSize);
  if (room.empty()) return;
  char own_name[wire::kThreadNameSize] = {};
  if (name == nullptr) {
    raw_syscall(SYS_prctl, PR_GET_NAME, own_name, 0, 0, 0);
    name = own_name;
  }
  ByteWriter writer(room);
  writer.fixed(thread.tid);
  writer.fixed(monotonic_ns());
  writer.fixed(cpu_ns);
  writer.bytes(name, wire::kThreadNameSize);
  thread.samples.ring.commit(static_cast<uint8_t>(RecordType::kThreadStart), writer.size());
}

// Once: under a filter that goes away again, the slot of a thread is freed long after its end.
void write_end(ThreadState& thread, uint64_t cpu_ns) {
  if (thread.has_ended) return;
  thread.has_ended = true;
  const std::span<uint8_t> room = thread.samples.ring.begin(8 + 8 + 8);
  if (room.empty()) return;
  ByteWriter writer(room);
  writer.fixed(monotonic_ns());
  writer.fixed(cpu_ns);
  writer.fixed(wire::thread_slot(this_process.shared, thread.slot)
                   ->left_out_ns.load(std::memory_order_relaxed));
  thread.samples.ring.commit(static_cast<uint8_t>(RecordType::kThreadEnd), writer.size());
}

}  // namespace

ThreadState* thread_by_tid(int32_t tid) {
  std::atomic<uint16_t>& hint = hints[static_cast<uint32_t>(tid) % kHints];
  const uint32_t slot = hint.load(std::memory_order_relaxed);
  if (slot < slots_used() && tids[slot].load(std::memory_order_acquire) == tid)
    return &states[slot];
  ThreadState* found = find([tid](int32_t other, const ThreadState&) { return other == tid; });
  if (found != nullptr) hint.store(static_cast<uint16_t>(found->slot), std::memory_order_relaxed);
  return found;
}

ThreadState* thread_by_pthread(pthread_t pthread) {
  return find([pthread](int32_t, const ThreadState& thread) { return thread.pthread == pthread; });
}

ThreadState* current_thread() {
  // Under a seccomp filter gettid may be fatal.
  if (this_process.seccomp_filtered.load(std::memory_order_relaxed)) {
    return thread_by_pthread(this_pthread());
  }
  return thread_by_tid(static_cast<int32_t>(raw_syscall(SYS_gettid)));
}

bool start_threads() {
  states = static_cast<ThreadState*>(
      states_memory.start(sizeof(ThreadState), this_process.shape.slots * sizeof(ThreadState)));
  return states != nullptr;
}

ThreadState* thread_in_slot(uint32_t slot) {
  return slot < slots_used() && tids[slot].load(std::memory_order_acquire) > 0 ? &states[slot]
                                                                               : nullptr;
}

uint32_t slots_used() {
  return used.load(std::memory_order_acquire);
}

ThreadState* claim_slot() {
  for (uint32_t slot = 0; slot < this_process.shape.slots; ++slot) {
    int32_t expected = kFree;
    if (tids[slot].load(std::memory_order_relaxed) == kFree &&
        tids[slot].compare_exchange_strong(expected, kClaimed, std::memory_order_acquire)) {
      if (!map_slot(slot) || !map_state(slot) || !prepare(states[slot], slot)) {
        tids[slot].store(kFree, std::memory_order_release);
        break;
      }
      raise_to(used, slot + 1);
      raise_to(wire::control_block(this_process.shared)->slots_used, slot + 1);
      return &states[slot];
    }
  }
  count_loss(wire::Loss::kThreadNoSlot);
  return nullptr;
}

void release_slot(ThreadState& thread) {
  tids[thread.slot].store(kFree, std::memory_order_release);
}

void begin_thread(ThreadState& thread, int32_t tid, uint64_t cpu_ns, const char* name) {
  thread.tid = thread.clock.tid = thread.markers.tid = tid;
  thread.samples.last_cpu_ns.store(cpu_ns, std::memory_order_relaxed);
  thread.samples.left_out_ns = 0;
  wire::thread_slot(this_process.shared, thread.slot)
      ->left_out_ns.store(0, std::memory_order_relaxed);
  write_start(thread, cpu_ns, name);
  thread.clock.may_be_drummed = thread.pthread != 0;
  if (thread.pthread == 0) foreign_threads.fetch_add(1, std::memory_order_relaxed);
  const bool may_arm = keeps_sampling_signal();
  const SignalsBlocked blocked;
  thread.clock.lock.lock();
  tids[thread.slot].store(tid, std::memory_order_release);
  if (may_arm) {
    arm_clock(thread.clock);
  } else {
    count_loss(wire::Loss::kThreadSignal);
  }
  thread.clock.lock.unlock();
}

void end_thread(ThreadState& thread, int32_t tid, uint64_t cpu_ns) {
  if (this_process.seccomp_filtered.load(std::memory_order_relaxed)) {
    // The slot stays taken and the clock armed: to free them takes system calls.
    close_markers(thread.markers);
    write_end(thread, cpu_ns);
    return;
  }
  {
    const SignalsBlocked blocked;
    thread.clock.lock.lock();
    const bool ours = tids[thread.slot].compare_exchange_strong(tid, kClaimed);
    if (ours) disarm_clock(thread.clock);
    thread.clock.lock.unlock();
    if (!ours) return;
  }
  if (thread.pthread == 0) foreign_threads.fetch_sub(1, std::memory_order_relaxed);
  close_markers(thread.markers);
  write_end(thread, cpu_ns);
  ended_cpu_ns.fetch_add(thread.samples.last_cpu_ns.load(std::memory_order_relaxed),
                         std::memory_order_relaxed);
  // While the thread stands on our stack, or the kernel has it, no other thread may get the stack.
  if (thread.pthread == 0 || release_thread_signals(thread.signals)) release_slot(thread);
}

bool keeps_sampling_signal() {
  // Under a seccomp filter no clock is armed, and none can be disarmed.
  if (this_process.seccomp_filtered.load(std::memory_order_relaxed) || owns_sampling_signal()) {
    return true;
  }
  const SignalsBlocked blocked;
  for_each_thread([](ThreadState& thread) {
    thread.clock.lock.lock();
    if (thread.clock.armed != kNoClock) count_loss(wire::Loss::kThreadSignal);
    disarm_clock(thread.clock);
    thread.clock.lock.unlock();
  });
  return false;
}

void rearm_all_threads() {
  const SignalsBlocked blocked;
  for_each_thread([](ThreadState& thread) {
    thread.clock.lock.lock();
    if (thread_in_slot(thread.slot) == &thread) {
      disarm_clock(thread.clock);
      arm_clock(thread.clock);
    }
    thread.clock.lock.unlock();
  });
}

void disarm_all_threads() {
  const SignalsBlocked blocked;
  for_each_thread([](ThreadState& thread) {
    thread.clock.lock.lock();
    disarm_clock(thread.clock);
    thread.clock.lock.unlock();
  });
}

uint64_t explained_cpu_ns() {
  uint64_t sum = ended_cpu_ns.load(std::memory_order_relaxed);
  for_each_thread([&sum](const ThreadState& thread) {
    sum += thread.samples.last_cpu_ns.load(std::memory_order_relaxed);
  });
  return sum;
}

bool keep_only(ThreadState* survivor) {
  states_memory.after_fork();
  bool others = false;
  for (uint32_t slot = 0; slot < slots_used(); ++slot) {
    ThreadState& thread = states[slot];
    // Neither timers nor the mappings of perf events are inherited.
    forget_clock(thread.clock);
    if (&thread == survivor) continue;
    others |= tids[slot].exchange(kFree, std::memory_order_relaxed) != kFree;
  }
  ended_cpu_ns.store(0, std::memory_order_relaxed);
  // The survivor begins once more.
  foreign_threads.store(0, std::memory_order_relaxed);
  if (survivor == nullptr) return others;
  survivor->busy.store(false, std::memory_order_relaxed);
  survivor->dispatched = false;
  survivor->samples.walking.store(false, std::memory_order_relaxed);
  survivor->samples.previous_depth = 0;
  survivor->samples.python.step = {};
  tids[survivor->slot].store(kClaimed, std::memory_order_relaxed);
  raise_to(wire::control_block(this_process.shared)->slots_used, survivor->slot + 1);
  return others;
}

}  // namespace sampan::preload
