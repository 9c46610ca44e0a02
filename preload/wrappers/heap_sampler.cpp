#include "preload/wrappers/heap_sampler.h"

#include <algorithm>
#include <atomic>

#include "base/clock.h"
#include "preload/process/process.h"
#include "preload/wrappers/exponential.h"
#include "preload/wrappers/thread_ring.h"
#include "wire/control_block.h"

namespace sampan::preload {

constinit thread_local AllocationCount allocation_count{};

namespace {

enum class Stage : uint8_t { kBeforeStart, kNever, kStarted };
constinit std::atomic<Stage> stage = Stage::kBeforeStart;

// How much a thread allocates between two looks whether sampling is on.
constexpr uint64_t kIdleBytes = uint64_t{1} << 16;
constexpr uint64_t kLargestMean = uint64_t{1} << 40;

uint64_t wanted_mean() {
  if (stage.load(std::memory_order_acquire) != Stage::kStarted || !may_record()) return 0;
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

// A far draw with a larger mean would outlast the burst that it was made for. So the thread draws again after a few
// means, between two allocations: the exponential distribution has no memory of what it did not draw.
void draw_next(AllocationCount& count, uint64_t mean) {
  constexpr uint64_t kSoon = 4;
  count.mean = thinned(mean);
  const uint64_t drawn = draw_distance(count.random, count.mean);
  count.distance = count.mean == mean ? drawn : std::min(drawn, kSoon * mean);
  count.beyond = drawn - count.distance;
}

}  // namespace

void start_heap_sampler(bool starts) {
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
  if (count.mean == 0) draw_next(count, mean);
  if (size < count.distance) {
    count.distance -= size;
    return 0;
  }
  const uint64_t drawn_with = size - count.distance >= count.beyond ? count.mean : 0;
  draw_next(count, mean);
  return drawn_with;
}

}  // namespace sampan::preload
