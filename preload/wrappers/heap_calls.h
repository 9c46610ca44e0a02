// What the wrappers of an allocator do beside calling it.
//
// Freestanding: linked into the target.
#pragma once

#include <cstddef>

#include "preload/wrappers/allocator.h"
#include "preload/wrappers/heap_records.h"
#include "preload/wrappers/heap_sampler.h"

// The return address into who called the wrapper.
#define SAMPAN_CALLER __builtin_extract_return_addr(__builtin_return_address(0))

namespace sampan::preload {

// `block`: null if the allocator has none.
[[gnu::always_inline]] inline void* counted(void* block, size_t size, const void* caller) {
  if (count_allocation(size)) [[unlikely]]
    record_allocation(block, size, caller);
  return block;
}

// A block that may be a sampled one is about to be freed.
void note_free(void* block, const void* caller);

[[gnu::always_inline]] inline void release(void* block, const void* caller) {
  if (sampled_blocks.may_have(block)) [[unlikely]]
    note_free(block, caller);
  next_allocator.free(block);
}

}  // namespace sampan::preload
