// malloc and its relatives. The fast path is a call of the program's allocator, a comparison and a subtraction;
// of free(), a look into the filter of sampled blocks and the call.
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "preload/support/interpose.h"
#include "preload/wrappers/heap_calls.h"

namespace sampan::preload {
namespace {

[[gnu::cold, gnu::noinline]] void* reallocate_suspect(void* block, size_t size,
                                                      const void* caller) {
  // Taken before, for the block may be another thread's at once.
  const uint64_t id = take_sampled(block);
  void* const moved = next_allocator.realloc(block, size);
  if (id == 0) return moved;
  if (moved != nullptr || size == 0) {
    record_free(id, caller);
  } else {
    keep_sampled(block, id);
  }
  return moved;
}

[[gnu::always_inline]] inline void* reallocate(void* block, size_t size, const void* caller) {
  void* const moved = block != nullptr && sampled_blocks.may_have(block)
                          ? reallocate_suspect(block, size, caller)
                          : next_allocator.realloc(block, size);
  return counted(moved, size, caller);
}

}  // namespace

[[gnu::cold, gnu::noinline]] void note_free(void* block, const void* caller) {
  if (const uint64_t id = take_sampled(block); id != 0) record_free(id, caller);
}

}  // namespace sampan::preload

SAMPAN_EXPORT void* malloc(size_t size) noexcept {
  using namespace sampan::preload;
  return counted(next_allocator.malloc(size), size, SAMPAN_CALLER);
}

SAMPAN_EXPORT void* calloc(size_t count, size_t size) noexcept {
  using namespace sampan::preload;
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) bytes = SIZE_MAX;  // it fails
  return counted(next_allocator.calloc(count, size), bytes, SAMPAN_CALLER);
}

SAMPAN_EXPORT void* realloc(void* block, size_t size) noexcept {
  return sampan::preload::reallocate(block, size, SAMPAN_CALLER);
}

// Here, for those of some libraries call realloc, and others do not.
SAMPAN_EXPORT void* reallocarray(void* block, size_t count, size_t size) noexcept {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return sampan::preload::reallocate(block, bytes, SAMPAN_CALLER);
}

SAMPAN_EXPORT void* aligned_alloc(size_t alignment, size_t size) noexcept {
  using namespace sampan::preload;
  return counted(next_allocator.aligned_alloc(alignment, size), size, SAMPAN_CALLER);
}

SAMPAN_EXPORT int posix_memalign(void** block, size_t alignment, size_t size) noexcept {
  using namespace sampan::preload;
  const int result = next_allocator.posix_memalign(block, alignment, size);
  counted(result == 0 ? *block : nullptr, size, SAMPAN_CALLER);
  return result;
}

SAMPAN_EXPORT void* memalign(size_t alignment, size_t size) noexcept {
  using namespace sampan::preload;
  return counted(next_allocator.memalign(alignment, size), size, SAMPAN_CALLER);
}

SAMPAN_EXPORT void* valloc(size_t size) noexcept {
  using namespace sampan::preload;
  return counted(next_allocator.valloc(size), size, SAMPAN_CALLER);
}

SAMPAN_EXPORT void* pvalloc(size_t size) noexcept {
  using namespace sampan::preload;
  return counted(next_allocator.pvalloc(size), size, SAMPAN_CALLER);
}

SAMPAN_EXPORT void free(void* block) noexcept {
  sampan::preload::release(block, SAMPAN_CALLER);
}

// C23 has these. The size and the alignment only help an allocator to find the block.
SAMPAN_EXPORT void free_sized(void* block, size_t) noexcept {
  sampan::preload::release(block, SAMPAN_CALLER);
}

SAMPAN_EXPORT void free_aligned_sized(void* block, size_t, size_t) noexcept {
  sampan::preload::release(block, SAMPAN_CALLER);
}
