// mmap, munmap and mremap of anonymous memory. What is mapped without access is only reserved, and does not
// count. Neither do mappings that the allocator makes: what it gives of them is counted as blocks.
#include <stdarg.h>
#include <sys/mman.h>

#include "preload/process/process.h"
#include "preload/support/interpose.h"
#include "preload/wrappers/heap_calls.h"
#include "preload/wrappers/sampled_mappings.h"
#include "wire/control_block.h"

namespace sampan::preload {
namespace {

uint64_t whole_pages(size_t size) {
  return (size + wire::kPage - 1) / wire::kPage * wire::kPage;
}

[[gnu::noinline]] void note_unmapped(void* at, size_t size, const void* caller) {
  const auto begin = reinterpret_cast<uint64_t>(at);
  if (begin % wire::kPage != 0) return;  // it fails
  for (;;) {
    uint64_t id = 0;
    if (!sampled_mappings.remove(begin, begin + whole_pages(size), &id)) {
      return count_loss(wire::Loss::kFreeLost);
    }
    if (id == 0) return;
    record_free(id, caller);
  }
}

[[gnu::noinline]] void note_mapped(void* at, size_t size, const void* caller) {
  const uint64_t mean = draw_allocation(size);
  if (mean == 0) return;
  const uint64_t id = record_drawn(size, mean, wire::AllocationKind::kMapping, caller);
  const auto begin = reinterpret_cast<uint64_t>(at);
  if (id != 0 && !sampled_mappings.add(begin, begin + whole_pages(size), id)) {
    count_loss(wire::Loss::kFreeLost);
  }
}

[[gnu::always_inline]] inline void unmapped(void* at, size_t size, const void* caller) {
  if (!sampled_mappings.empty()) note_unmapped(at, size, caller);
}

[[gnu::always_inline]] inline void mapped(void* at, size_t size, int protection, int flags,
                                          const void* caller) {
  if ((flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) == MAP_FIXED) unmapped(at, size, caller);
  if ((flags & MAP_ANONYMOUS) != 0 && protection != PROT_NONE && !is_code_of_allocator(caller) &&
      count_allocation(size)) {
    note_mapped(at, size, caller);
  }
}

}  // namespace
}  // namespace sampan::preload

// One function by two names, for on 64-bit machines all offsets are large. The header knows only one of them.
SAMPAN_EXPORT void* map_memory(void* at, size_t size, int protection, int flags, int fd,
                               off_t offset) noexcept asm("mmap");
SAMPAN_EXPORT __attribute__((alias("mmap"))) void* map_memory_64(void* at, size_t size,
                                                                 int protection, int flags, int fd,
                                                                 off_t offset) noexcept
    asm("mmap64");

void* map_memory(void* at, size_t size, int protection, int flags, int fd, off_t offset) noexcept {
  using namespace sampan::preload;
  void* const result = next_allocator.mmap(at, size, protection, flags, fd, offset);
  if (result != MAP_FAILED) mapped(result, size, protection, flags, SAMPAN_CALLER);
  return result;
}

// Noted before: afterwards another thread may have memory there.
SAMPAN_EXPORT int munmap(void* at, size_t size) noexcept {
  using namespace sampan::preload;
  unmapped(at, size, SAMPAN_CALLER);
  return next_allocator.munmap(at, size);
}

SAMPAN_EXPORT void* mremap(void* at, size_t before, size_t size, int flags, ...) noexcept {
  using namespace sampan::preload;
  va_list list;
  va_start(list, flags);
  void* const to = va_arg(list, void*);
  va_end(list);
  void* const result = next_allocator.mremap(at, before, size, flags, to);
  if (result == MAP_FAILED) return result;
  // It counts as a new one, as a block of realloc does. Whether it is of a file is not known.
  unmapped(at, before, SAMPAN_CALLER);
  mapped(result, size, PROT_READ, MAP_ANONYMOUS, SAMPAN_CALLER);
  return result;
}
