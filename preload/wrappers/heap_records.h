// The records of sampled allocations and of their frees (kAllocation and kFree of wire/record.h), and the table of the
// blocks that live.
//
// Any thread at any time, also in a signal handler that has interrupted these functions: nothing waits, and
// what cannot be recorded is counted. At most 2 KB of stack; errno is not touched.
//
// Freestanding: linked into the target.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/wrappers/sampled_blocks.h"
#include "wire/record.h"

namespace sampan::preload {

extern constinit SampledBlocks sampled_blocks;

// In the constructor, once the session has been joined. False when there is no memory.
bool start_heap_records();

// Draws the allocation (heap_sampler.h), and records it if it is sampled. `block`: null if there is none.
// `caller`: the return address into who called the allocator, the leaf of the recorded stack.
void record_allocation(const void* block, size_t size, const void* caller);
// Records an allocation that was drawn, of memory that is not a block. Its id; 0: it could not be recorded.
uint64_t record_drawn(size_t size, uint64_t mean, wire::AllocationKind kind, const void* caller);

// The block is about to be freed: its id if it is a sampled one, else 0. It is not in the table any more.
uint64_t take_sampled(const void* block);
// It has not been freed after all.
void keep_sampled(const void* block, uint64_t id);
void record_free(uint64_t id, const void* caller);

}  // namespace sampan::preload
