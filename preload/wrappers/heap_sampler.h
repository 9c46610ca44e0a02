// Sampled allocations: which are drawn, and the records of them and of their frees (kAllocation and
// kFree of wire/record.h).
//
// Every thread counts the bytes that it allocates. Which byte is drawn next is exponentially distributed with the mean
// that is asked for (ControlBlock::heap_mean), and the allocation with this byte is recorded. So an
// allocation of S bytes is recorded with probability 1 - exp(-S / mean), whatever was allocated before it, and
// stands for S / (1 - exp(-S / mean)) bytes. While sampling is off, threads look now and then
// whether it has begun. CPU samples may be paused meanwhile: that changes nothing here.
//
// Any thread at any time, also in a signal handler that has interrupted these functions: nothing waits,
// and what cannot be recorded is counted. errno is not touched.
//
// Freestanding: linked into the target.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/wrappers/sampled_blocks.h"
#include "wire/record.h"

namespace sampan::preload {

// Of the calling thread. Zeroes: it has not allocated anything yet.
struct AllocationCount {
  uint64_t distance;  // the allocation with this byte is drawn, counted from 1
  uint64_t
      mean;  // that `distance` was drawn with; 0: nothing is drawn there, but then it is time to draw
  uint64_t random;
};
extern constinit thread_local AllocationCount allocation_count;

extern constinit SampledBlocks sampled_blocks;

// In the constructor, when the session has been joined or will never be.
void start_heap_sampler();

// Counts an allocation. True when it may be the drawn one: then record_allocation() is to be called. That
// may be true for any size before the first call, and if the size is 2^63 or more.
inline bool count_allocation(size_t size) {
  if (size >= allocation_count.distance) [[unlikely]]
    return true;
  allocation_count.distance -= size;
  return false;
}

// Records the allocation if it is the drawn one. `block`: null if it has failed. `caller`: the return address
// into who called the allocator, the leaf of the recorded stack.
void record_allocation(const void* block, size_t size, const void* caller);

// The block is about to be freed: its id if it is a sampled one, else 0. It is not in the table any more.
uint64_t take_sampled(const void* block);
// It has not been freed after all.
void keep_sampled(const void* block, uint64_t id);
void record_free(uint64_t id, const void* caller);

// The mean with which this allocation is drawn; 0: it is not. For memory that is not in the table; it counts as
// any other.
uint64_t draw_allocation(size_t size);
// Records an allocation of that kind that was drawn. Its id; 0: it could not be recorded (counted).
uint64_t record_drawn(size_t size, uint64_t mean, wire::AllocationKind kind, const void* caller);

}  // namespace sampan::preload
