// Which allocations are sampled.
//
// Every thread counts the bytes that it allocates. Which byte is drawn next is exponentially distributed with the mean
// that is asked for (ControlBlock::heap_mean), and the allocation with this byte is sampled. So an
// allocation of S bytes is sampled with probability 1 - exp(-S / mean), whatever was allocated before it, and
// stands for S / (1 - exp(-S / mean)) bytes. While sampling is off, a thread looks every 64 KB whether it has begun.
// Pauses of CPU samples change nothing here.
//
// Async-signal-safe; errno is not touched. Freestanding: linked into the target.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sampan::preload {

// The calling thread's. Zeroes: it has not allocated anything yet.
struct AllocationCount {
  uint64_t distance;  // the allocation with this byte, counted from 1, is looked at
  uint64_t beyond;    // the drawn byte is so far behind that one
  uint64_t mean;      // that it was drawn with; 0: none is drawn, for sampling was off
  uint64_t random;
};
extern constinit thread_local AllocationCount allocation_count;

// In the constructor, when the session has been joined or never will be. Whether allocations may be sampled.
void start_heap_sampler(bool starts);

// Counts an allocation. True when it may be the drawn one: then draw_allocation() says whether it is. That may be
// true for any size before the first draw, and if the size is 2^63 or more.
inline bool count_allocation(size_t size) {
  if (size >= allocation_count.distance) [[unlikely]]
    return true;
  allocation_count.distance -= size;
  return false;
}

// The mean with which this allocation is drawn, and begins the way to the next one; 0: it is not.
uint64_t draw_allocation(size_t size);

}  // namespace sampan::preload
