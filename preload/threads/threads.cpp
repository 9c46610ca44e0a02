#include "preload/threads.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "base/byte_writer.h"
#include "base/clock.h"
#include "base/syscall.h"
#include "preload/clock.h"
#include "preload/process.h"
#include "wire/control_block.h"
#include "wire/record.h"

namespace sampan::preload {
namespace {

using wire::RecordType;

// A slot's private memory, mapped when the slot is first used and kept: a guard page, the alternate
// stack, the two frame buffers.
constexpr size_t kGuardSize = wire::kPage;
constexpr size_t kAlternateStackSize = size_t{64} << 10;
constexpr size_t kFramesSize = wire::kMaxFrames * sizeof(uint64_t);
constexpr size_t kPrivateSize = kGuardSize + kAlternateStackSize + 2 * kFramesSize;

constexpr int32_t kFree = 0;
constexpr int32_t kClaimed = -1;

// The table of tids is apart from the states, so that a search touches little memory.
constinit std::atomic<int32_t> tids[wire::kSlotCount];
constinit std::atomic<uint32_t> used;
// All zeroes: states that are never used are never touched.
alignas(64) constinit ThreadState states[wire::kSlotCount]{};
std::atomic<uint64_t> ended_cpu_ns;

bool map_private_memory(ThreadState& thread) {
  const long mapped = raw_syscall(SYS_mmap, nullptr, kPrivateSize, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped < 0 && mapped > -4096) return false;
  raw_syscall(SYS_mprotect, mapped, kGuardSize, PROT_NONE);
  auto* memory = reinterpret_cast<uint8_t*>(mapped) + kGuardSize;
  auto* frames = reinterpret_cast<uint64_t*>(memory + kAlternateStackSize);
  thread.alternate_stack = {memory, kAlternateStackSize};
  thread.frames = {frames, wire::kMaxFrames};
  thread.previous = {frames + wire::kMaxFrames, wire::kMaxFrames};
  return true;
}

bool prepare(ThreadState& thread, uint32_t slot) {
  if (thread.frames.empty() && !map_private_memory(thread)) return false;
  thread.slot = slot;
  thread.tid = 0;
  thread.pthread = 0;
  thread.busy.store(false, std::memory_order_relaxed);
  thread.walking.store(false, std::memory_order_relaxed);
  thread.destructor_rounds = 0;
  thread.timer = -1;
  thread.perf_page = nullptr;
  thread.rate_hz = 0;
  thread.last_cpu_ns.store(0, std::memory_order_relaxed);
  thread.left_out_ns = 0;
  thread.open_sections.store(0, std::memory_order_relaxed);
  thread.stack = {0, 0, true};
  thread.ring = {&wire::thread_slot(this_process.shared, slot)->ring,
                 wire::thread_ring_buffer(this_process.shared, slot)};
  thread.previous_depth = 0;
  thread.samples_since_full = 0;
  memset(static_cast<void*>(&thread.signals), 0, sizeof thread.signals);
  thread.inherited_hidden = 0;
  thread.stack_size = 0;
  prepare_markers(thread.markers, slot);
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
  const std::span<uint8_t> room = thread.ring.begin(4 + 8 + 8 + wire::kThreadNameSize);
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
  thread.ring.commit(static_cast<uint8_t>(RecordType::kThreadStart), writer.size());
}

void write_end(ThreadState& thread, uint64_t cpu_ns) {
  const std::span<uint8_t> room = thread.ring.begin(8 + 8 + 8);
  if (room.empty()) return;
  ByteWriter writer(room);
  writer.fixed(monotonic_ns());
  writer.fixed(cpu_ns);
  writer.fixed(wire::thread_slot(this_process.shared, thread.slot)
                   ->left_out_ns.load(std::memory_order_relaxed));
  thread.ring.commit(static_cast<uint8_t>(RecordType::kThreadEnd), writer.size());
}

}  // namespace

ThreadState* thread_by_tid(int32_t tid) {
  return find([tid](int32_t other, const ThreadState&) { return other == tid; });
}

ThreadState* thread_by_pthread(pthread_t pthread) {
  return find([pthread](int32_t, const ThreadState& thread) { return thread.pthread == pthread; });
}

ThreadState* current_thread() {
  // gettid may be fatal under a seccomp filter.
  if (this_process.seccomp_filtered.load(std::memory_order_relaxed)) {
    return thread_by_pthread(pthread_self());
  }
  return thread_by_tid(static_cast<int32_t>(raw_syscall(SYS_gettid)));
}

ThreadState* thread_in_slot(uint32_t slot) {
  return slot < slots_used() && tids[slot].load(std::memory_order_acquire) > 0 ? &states[slot]
                                                                               : nullptr;
}

uint32_t slots_used() {
  return used.load(std::memory_order_acquire);
}

ThreadState* claim_slot() {
  for (uint32_t slot = 0; slot < wire::kSlotCount; ++slot) {
    int32_t expected = kFree;
    if (tids[slot].load(std::memory_order_relaxed) == kFree &&
        tids[slot].compare_exchange_strong(expected, kClaimed, std::memory_order_acquire)) {
      if (!prepare(states[slot], slot)) {
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
  thread.tid = tid;
  thread.last_cpu_ns.store(cpu_ns, std::memory_order_relaxed);
  thread.left_out_ns = 0;
  wire::thread_slot(this_process.shared, thread.slot)
      ->left_out_ns.store(0, std::memory_order_relaxed);
  write_start(thread, cpu_ns, name);
  if (thread.pthread == 0) foreign_threads.fetch_add(1, std::memory_order_relaxed);
  const SignalsBlocked blocked;
  thread.clock_lock.lock();
  tids[thread.slot].store(tid, std::memory_order_release);
  arm(thread);
  thread.clock_lock.unlock();
}

void end_thread(ThreadState& thread, int32_t tid, uint64_t cpu_ns) {
  if (this_process.seccomp_filtered.load(std::memory_order_relaxed)) {
    // The slot stays taken, and the timer stays: to free them needs system calls.
    close_markers(thread);
    write_end(thread, cpu_ns);
    return;
  }
  {
    const SignalsBlocked blocked;
    thread.clock_lock.lock();
    const bool ours = tids[thread.slot].compare_exchange_strong(tid, kClaimed);
    if (ours) disarm(thread);
    thread.clock_lock.unlock();
    if (!ours) return;
  }
  if (thread.pthread == 0) foreign_threads.fetch_sub(1, std::memory_order_relaxed);
  close_markers(thread);
  write_end(thread, cpu_ns);
  ended_cpu_ns.fetch_add(thread.last_cpu_ns.load(std::memory_order_relaxed),
                         std::memory_order_relaxed);
  // A stack of ours that the thread stands on, or gave to the kernel, must not get another owner.
  if (thread.pthread == 0 || release_thread_signals(thread.signals)) release_slot(thread);
}

void rearm_all_threads() {
  const SignalsBlocked blocked;
  for_each_thread([](ThreadState& thread) {
    thread.clock_lock.lock();
    if (thread_in_slot(thread.slot) == &thread) {
      disarm(thread);
      arm(thread);
    }
    thread.clock_lock.unlock();
  });
}

uint64_t explained_cpu_ns() {
  uint64_t sum = ended_cpu_ns.load(std::memory_order_relaxed);
  for_each_thread([&sum](const ThreadState& thread) {
    sum += thread.last_cpu_ns.load(std::memory_order_relaxed);
  });
  return sum;
}

bool keep_only(ThreadState* survivor) {
  bool others = false;
  for (uint32_t slot = 0; slot < slots_used(); ++slot) {
    ThreadState& thread = states[slot];
    thread.clock_lock.unlock();
    if (&thread == survivor) continue;
    others |= tids[slot].exchange(kFree, std::memory_order_relaxed) != kFree;
  }
  ended_cpu_ns.store(0, std::memory_order_relaxed);
  // The one that goes on begins once more.
  foreign_threads.store(0, std::memory_order_relaxed);
  if (survivor == nullptr) return others;
  // Neither timers nor the mappings of perf events are inherited.
  survivor->timer = -1;
  survivor->perf_page = nullptr;
  survivor->busy.store(false, std::memory_order_relaxed);
  survivor->walking.store(false, std::memory_order_relaxed);
  survivor->previous_depth = 0;
  tids[survivor->slot].store(kClaimed, std::memory_order_relaxed);
  raise_to(wire::control_block(this_process.shared)->slots_used, survivor->slot + 1);
  return others;
}

}  // namespace sampan::preload
