#include "preload/wrappers/heap_sampler.h"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>

#include "base/address.h"
#include "base/byte_writer.h"
#include "base/clock.h"
#include "base/syscall.h"
#include "preload/markers/marker_thread.h"
#include "preload/process/process.h"
#include "preload/samples/sample.h"
#include "preload/signals/alternate_stack.h"
#include "preload/threads/threads.h"
#include "preload/wrappers/exponential.h"
#include "preload/wrappers/sampled_mappings.h"
#include "unwind/registers.h"
#include "wire/control_block.h"

namespace sampan::preload {

constinit thread_local AllocationCount allocation_count{};
constinit SampledBlocks sampled_blocks;

namespace {

enum class Stage : uint8_t { kBeforeStart, kNever, kStarted };
std::atomic<Stage> stage;
std::atomic<uint64_t> last_number;

// What is free of the ring for records that matter more: samples and frees, then the ends of threads.
constexpr size_t kAllocationReserve = wire::kThreadRingSize / 4;
constexpr size_t kFreeReserve = 256;
// How much a thread allocates between two looks whether sampling is on.
constexpr uint64_t kIdleBytes = uint64_t{1} << 16;
constexpr uint64_t kLargestMean = uint64_t{1} << 40;

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

// Not in the child of a fork that no interposer has seen, before it joins: the rings are its parent's. Nor
// when the recording has failed.
bool may_record() {
  return stage.load(std::memory_order_relaxed) == Stage::kStarted &&
         this_process.started.load(std::memory_order_acquire) && *this_process.fork_marker != 0 &&
         wire::control_block(this_process.shared)->enabled.load(std::memory_order_relaxed) != 0;
}

uint64_t wanted_mean() {
  if (!may_record()) return 0;
  return std::min(
      wire::control_block(this_process.shared)->heap_mean.load(std::memory_order_relaxed),
      kLargestMean);
}

// A thread that allocates faster than the collector reads draws fewer allocations, before its ring is full: the
// mean doubles with each part of the ring that is in use. Each record says which mean it was drawn with, and
// that is chosen before the draw, so totals stay unbiased.
uint64_t thinned(uint64_t mean) {
  constexpr uint64_t kPart = wire::kThreadRingSize / 16;
  const ThreadState* const thread = begun_thread();
  if (thread == nullptr) return mean;
  return std::min(mean << (thread->samples.ring.used() / kPart), kLargestMean);
}

void draw_next(AllocationCount& count, uint64_t mean) {
  count.mean = thinned(mean);
  count.distance = draw_distance(count.random, count.mean);
}

// A far draw of a larger mean would outlast the burst that it was made for. So the thread draws again after a few
// means: nothing was drawn up to there, and the exponential distribution has no memory.
void draw_again_soon(AllocationCount& count, uint64_t mean) {
  constexpr uint64_t kSoon = 4;
  if (count.mean == mean || count.distance <= kSoon * mean) return;
  count.mean = 0;
  count.distance = kSoon * mean;
}

// Without its time and stack, if there is no room for them.
void count_late_free(uint64_t id) {
  if (!wire::late_frees(this_process.shared)->put(id)) count_loss(wire::Loss::kFreeLost);
}

// The ring of the calling thread, while this exists. In a vfork child, its parent's, whose memory it allocates and
// frees.
class ThreadRing {
 public:
  ThreadRing() {
    ThreadState* thread = begun_thread();
    if (thread == nullptr || is_foreign(*thread) || on_small_alternate_stack(thread->signals) ||
        thread->busy.exchange(true, std::memory_order_acquire)) {
      return;
    }
    thread_ = thread;
    // To ask for a page takes a system call.
    if (is_filtered()) thread->samples.stack.may_probe = false;
  }
  ~ThreadRing() {
    if (thread_ != nullptr) thread_->busy.store(false, std::memory_order_release);
  }
  ThreadRing(const ThreadRing&) = delete;
  ThreadRing& operator=(const ThreadRing&) = delete;

  SampleState* samples() const { return thread_ != nullptr ? &thread_->samples : nullptr; }

 private:
  static bool is_filtered() {
    return this_process.seccomp_filtered.load(std::memory_order_relaxed);
  }
  // Whether a raw clone shares the thread-local storage of another thread.
  static bool is_foreign(const ThreadState& thread) {
    return foreign_threads.load(std::memory_order_relaxed) != 0 && !is_filtered() &&
           raw_syscall(SYS_gettid) != thread.tid;
  }

  ThreadState* thread_ = nullptr;
};

// Walks the stack from here, and leaves out what is below the caller.
[[gnu::always_inline]] inline unwind::WalkResult walk_from(const void* caller,
                                                           SampleState& samples) {
  constexpr uint32_t kMostOwnFrames = 8;
  unwind::Registers registers{};
  unwind::put_registers_here(registers.value);
  unwind::WalkResult walked = walk_stack(samples, registers);
  const uint64_t leaf =
      CodeAddress::return_address(reinterpret_cast<uint64_t>(caller)).lookup_avma();
  const uint32_t most = std::min(walked.depth, kMostOwnFrames);
  uint32_t own = 0;
  while (own < most && samples.frames[own] != leaf) ++own;
  if (own == most) {
    samples.frames[0] = leaf;
    walked.depth = 1;
    return walked;
  }
  walked.depth -= own;
  for (uint32_t i = 0; i < walked.depth; ++i) samples.frames[i] = samples.frames[own + i];
  return walked;
}

// Writes a record: the time, `numbers`, `kind` if there is one, the stack.
[[gnu::always_inline]] inline bool write_record(SampleState& samples, wire::RecordType type,
                                                std::span<const uint64_t> numbers,
                                                const wire::AllocationKind* kind, size_t reserve,
                                                const void* caller) {
  uint8_t buffer[8 + 3 * 8 + 1 + 1];
  ByteWriter fields(buffer);
  fields.fixed(monotonic_ns());
  for (const uint64_t number : numbers) fields.fixed(number);
  if (kind != nullptr) fields.fixed(*kind);
  const unwind::WalkResult walked = caller != nullptr
                                        ? walk_from(caller, samples)
                                        : unwind::WalkResult{0, wire::StopReason::kRoot};
  fields.fixed(walked.stop);
  return write_with_stack(samples, type, fields.written(), walked.depth, reserve);
}

void begin_again_in_child() {
  allocation_count = {};
  sampled_mappings.forget();
}

uint64_t address_space() {
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  raw_syscall(SYS_prlimit64, 0, RLIMIT_AS, nullptr, &limit);
  return limit.rlim_cur;
}

}  // namespace

void start_heap_sampler() {
  constexpr uint64_t kShareOfAddressSpace = 64;
  const bool starts = this_process.started.load(std::memory_order_acquire) &&
                      sampled_blocks.start(address_space() / kShareOfAddressSpace) &&
                      pthread_atfork(nullptr, nullptr, begin_again_in_child) == 0;
  stage.store(starts ? Stage::kStarted : Stage::kNever, std::memory_order_release);
}

uint64_t draw_allocation(size_t size) {
  AllocationCount& count = allocation_count;
  if (stage.load(std::memory_order_acquire) == Stage::kBeforeStart) return 0;
  const uint64_t mean = wanted_mean();
  if (mean == 0) {
    count.mean = 0;
    count.distance =
        stage.load(std::memory_order_relaxed) == Stage::kNever ? UINT64_MAX : kIdleBytes;
    return 0;
  }
  if (count.random == 0) {
    count.random = uint64_t{monotonic_ns()} ^ reinterpret_cast<uintptr_t>(&count) << 16;
  }
  if (count.mean == 0) {
    // Nothing was drawn since sampling began, or since the last draw of a larger mean.
    draw_next(count, mean);
    if (size < count.distance) {
      count.distance -= size;
      draw_again_soon(count, mean);
      return 0;
    }
  }
  const uint64_t drawn_with = count.mean;
  draw_next(count, mean);
  draw_again_soon(count, mean);
  return drawn_with;
}

[[gnu::cold, gnu::noinline]] void record_allocation(const void* block, size_t size,
                                                    const void* caller) {
  if (block == nullptr) return;
  const uint64_t mean = draw_allocation(size);
  if (mean == 0) return;
  const ThreadRing ring;
  SampleState* const samples = ring.samples();
  const SampledBlocks::Place place =
      samples != nullptr ? sampled_blocks.claim(block) : SampledBlocks::Place();
  if (place.address == nullptr) return count_loss(wire::Loss::kAllocationLost);
  // Its free was not seen: by a function that passes no wrapper, or while nothing could be recorded.
  if (const uint64_t stale = sampled_blocks.remove(block);
      stale != 0 && is_of_this_process(stale)) {
    const uint64_t numbers[] = {stale};
    if (!write_record(*samples, wire::RecordType::kFree, numbers, nullptr, kFreeReserve, nullptr)) {
      count_late_free(stale);
    }
  }
  const uint64_t id = new_id();
  const uint64_t numbers[] = {id, size, mean};
  constexpr auto kKind = wire::AllocationKind::kHeap;
  if (write_record(*samples, wire::RecordType::kAllocation, numbers, &kKind, kAllocationReserve,
                   caller)) {
    sampled_blocks.publish(place, block, id);
  } else {
    sampled_blocks.give_back(place);
    count_loss(wire::Loss::kAllocationLost);
  }
}

[[gnu::noinline]] uint64_t record_drawn(size_t size, uint64_t mean, wire::AllocationKind kind,
                                        const void* caller) {
  const ThreadRing ring;
  SampleState* const samples = ring.samples();
  const uint64_t id = new_id();
  const uint64_t numbers[] = {id, size, mean};
  if (samples != nullptr && write_record(*samples, wire::RecordType::kAllocation, numbers, &kind,
                                         kAllocationReserve, caller)) {
    return id;
  }
  count_loss(wire::Loss::kAllocationLost);
  return 0;
}

uint64_t take_sampled(const void* block) {
  return sampled_blocks.remove(block);
}

void keep_sampled(const void* block, uint64_t id) {
  const SampledBlocks::Place place = sampled_blocks.claim(block);
  if (place.address == nullptr) return count_loss(wire::Loss::kFreeLost);
  sampled_blocks.publish(place, block, id);
}

[[gnu::cold, gnu::noinline]] void record_free(uint64_t id, const void* caller) {
  if (!may_record() || !is_of_this_process(id)) return;
  const ThreadRing ring;
  const uint64_t numbers[] = {id};
  if (ring.samples() == nullptr || !write_record(*ring.samples(), wire::RecordType::kFree, numbers,
                                                 nullptr, kFreeReserve, caller)) {
    count_late_free(id);
  }
}

}  // namespace sampan::preload
