#include "preload/wrappers/heap_records.h"

#include <pthread.h>
#include <sys/resource.h>

#include <atomic>
#include <span>

#include "base/byte_writer.h"
#include "base/clock.h"
#include "base/syscall.h"
#include "preload/process/process.h"
#include "preload/process/shared_memory.h"
#include "preload/samples/sample.h"
#include "preload/wrappers/heap_sampler.h"
#include "preload/wrappers/sampled_mappings.h"
#include "preload/wrappers/thread_ring.h"
#include "wire/control_block.h"

namespace sampan::preload {

constinit SampledBlocks sampled_blocks;

namespace {

constinit std::atomic<uint64_t> last_number;

// What is left free of the ring for records that matter more: samples and frees, then the ends of threads.
constexpr size_t kAllocationReserve = wire::kThreadRingSize / 4;
constexpr size_t kFreeReserve = 256;

// An id has the process in its upper bits. So a forked child knows the blocks of its parent, whose
// frees say nothing of its own allocations.
constexpr unsigned kNumberBits = 40;
uint64_t process_bits() {
  return static_cast<uint64_t>(this_process.pid) << kNumberBits;
}
uint64_t new_id() {
  const uint64_t number = last_number.fetch_add(1, std::memory_order_relaxed) + 1;
  return process_bits() | (number & ((uint64_t{1} << kNumberBits) - 1));
}
bool is_of_this_process(uint64_t id) {
  return (id ^ process_bits()) >> kNumberBits == 0;
}

SampleState* samples_of(const ThreadRing& ring) {
  return ring.thread() != nullptr ? &ring.thread()->samples : nullptr;
}

// Writes a record: the time, `numbers`, `kind` if there is one, the stack.
[[gnu::always_inline]] inline bool write_record(SampleState& samples, wire::RecordType type,
                                                std::span<const uint64_t> numbers,
                                                const wire::AllocationKind* kind, size_t reserve,
                                                const void* caller) {
  uint8_t buffer[8 + 3 * 8 + 1 + 1];
  if (!samples.ring.has_room(sizeof buffer, reserve)) return false;  // before the stack is walked
  ByteWriter fields(buffer);
  fields.fixed(monotonic_ns());
  for (const uint64_t number : numbers) fields.fixed(number);
  if (kind != nullptr) fields.fixed(*kind);
  const unwind::WalkResult walked = walk_from(caller, samples);
  fields.fixed(walked.stop);
  return write_with_stack(samples, type, fields.written(), walked.depth, reserve);
}

[[gnu::always_inline]] inline bool write_allocation(SampleState& samples, uint64_t id, size_t size,
                                                    uint64_t mean, wire::AllocationKind kind,
                                                    const void* caller) {
  const uint64_t numbers[] = {id, size, mean};
  return write_record(samples, wire::RecordType::kAllocation, numbers, &kind, kAllocationReserve,
                      caller);
}

// Without its time and stack, for there is no room for them.
void free_late(uint64_t id) {
  if (!map_markers() || !wire::late_frees(this_process.shared, this_process.shape.slots)->put(id)) {
    count_loss(wire::Loss::kFreeLost);
  }
}

bool may_call() {
  return !this_process.seccomp_filtered.load(std::memory_order_relaxed);
}

void begin_again_in_child() {
  sampled_blocks.after_fork();
  allocation_count = {};
  sampled_mappings.forget();
}

uint64_t address_space() {
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  raw_syscall(SYS_prlimit64, 0, RLIMIT_AS, nullptr, &limit);
  return limit.rlim_cur;
}

}  // namespace

bool start_heap_records() {
  constexpr uint64_t kShareOfAddressSpace = 64;
  return sampled_blocks.start(address_space() / kShareOfAddressSpace) &&
         pthread_atfork(nullptr, nullptr, begin_again_in_child) == 0;
}

[[gnu::cold, gnu::noinline]] void record_allocation(const void* block, size_t size,
                                                    const void* caller) {
  if (block == nullptr) return;
  const uint64_t mean = draw_allocation(size);
  if (mean == 0) return;
  const ThreadRing ring;
  SampleState* const samples = samples_of(ring);
  const SampledBlocks::Place place =
      samples != nullptr ? sampled_blocks.claim(block, may_call()) : SampledBlocks::Place();
  if (place.address == nullptr) return count_loss(wire::Loss::kAllocationLost);
  // Its free was not seen: it was by a function that passes no wrapper (RTLD_DEEPBIND, an allocator's own).
  if (const uint64_t stale = sampled_blocks.remove(block);
      stale != 0 && is_of_this_process(stale)) {
    free_late(stale);
    count_loss(wire::Loss::kFreeUnseen);
  }
  const uint64_t id = new_id();
  if (write_allocation(*samples, id, size, mean, wire::AllocationKind::kHeap, caller)) {
    sampled_blocks.publish(place, block, id);
  } else {
    sampled_blocks.give_back(place);
    count_loss(wire::Loss::kAllocationLost);
  }
}

[[gnu::noinline]] uint64_t record_drawn(size_t size, uint64_t mean, wire::AllocationKind kind,
                                        const void* caller) {
  const ThreadRing ring;
  const uint64_t id = new_id();
  if (samples_of(ring) != nullptr &&
      write_allocation(*samples_of(ring), id, size, mean, kind, caller)) {
    return id;
  }
  count_loss(wire::Loss::kAllocationLost);
  return 0;
}

uint64_t take_sampled(const void* block) {
  return sampled_blocks.remove(block);
}

void keep_sampled(const void* block, uint64_t id) {
  const SampledBlocks::Place place = sampled_blocks.claim(block, may_call());
  if (place.address == nullptr) return count_loss(wire::Loss::kFreeLost);
  sampled_blocks.publish(place, block, id);
}

[[gnu::cold, gnu::noinline]] void record_free(uint64_t id, const void* caller) {
  if (!may_record() || !is_of_this_process(id)) return;
  const ThreadRing ring;
  SampleState* const samples = samples_of(ring);
  const uint64_t numbers[] = {id};
  if (samples == nullptr ||
      !write_record(*samples, wire::RecordType::kFree, numbers, nullptr, kFreeReserve, caller)) {
    free_late(id);
  }
}

}  // namespace sampan::preload
