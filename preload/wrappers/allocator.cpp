#include "preload/wrappers/allocator.h"

#include <link.h>
#include <stdarg.h>

#include <algorithm>
#include <cstdint>

#include "preload/support/loaded_symbols.h"

namespace sampan::preload {
namespace {

template <typename Function>
void find(Function*& function, const char* name) {
  if (void* found = next_symbol(name)) function = reinterpret_cast<Function*>(found);
}

// All of these are in every C library.
void look_up() {
  Allocator found = next_allocator;
  find(found.malloc, "malloc");
  find(found.calloc, "calloc");
  find(found.realloc, "realloc");
  find(found.free, "free");
  find(found.aligned_alloc, "aligned_alloc");
  find(found.posix_memalign, "posix_memalign");
  find(found.memalign, "memalign");
  find(found.valloc, "valloc");
  find(found.pvalloc, "pvalloc");
  find(found.mmap, "mmap");
  find(found.munmap, "munmap");
  find(found.mremap, "mremap");
  next_allocator = found;
}

void* first_malloc(size_t size) {
  look_up();
  return next_allocator.malloc(size);
}
void* first_calloc(size_t count, size_t size) {
  look_up();
  return next_allocator.calloc(count, size);
}
void* first_realloc(void* block, size_t size) {
  look_up();
  return next_allocator.realloc(block, size);
}
void first_free(void* block) {
  look_up();
  next_allocator.free(block);
}
void* first_aligned_alloc(size_t alignment, size_t size) {
  look_up();
  return next_allocator.aligned_alloc(alignment, size);
}
int first_posix_memalign(void** block, size_t alignment, size_t size) {
  look_up();
  return next_allocator.posix_memalign(block, alignment, size);
}
void* first_memalign(size_t alignment, size_t size) {
  look_up();
  return next_allocator.memalign(alignment, size);
}
void* first_valloc(size_t size) {
  look_up();
  return next_allocator.valloc(size);
}
void* first_pvalloc(size_t size) {
  look_up();
  return next_allocator.pvalloc(size);
}

void* first_mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) {
  look_up();
  return next_allocator.mmap(at, size, protection, flags, fd, offset);
}
int first_munmap(void* at, size_t size) {
  look_up();
  return next_allocator.munmap(at, size);
}
void* first_mremap(void* at, size_t before, size_t size, int flags, ...) {
  va_list list;
  va_start(list, flags);
  void* const to = va_arg(list, void*);
  va_end(list);
  look_up();
  return next_allocator.mremap(at, before, size, flags, to);
}

// The addresses of the module that the allocator's code is in.
struct Range {
  uint64_t begin, end;
};
constinit Range allocator_range{};

int find_range(dl_phdr_info* info, size_t, void*) {
  const auto code = reinterpret_cast<uint64_t>(next_allocator.malloc);
  Range range{UINT64_MAX, 0};
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    range.begin = std::min(range.begin, info->dlpi_addr + header.p_vaddr);
    range.end = std::max(range.end, info->dlpi_addr + header.p_vaddr + header.p_memsz);
  }
  if (code < range.begin || code >= range.end) return 0;
  allocator_range = range;
  return 1;
}

}  // namespace

constinit Allocator next_allocator = {first_malloc,   first_calloc,        first_realloc,
                                      first_free,     first_aligned_alloc, first_posix_memalign,
                                      first_memalign, first_valloc,        first_pvalloc,
                                      first_mmap,     first_munmap,        first_mremap};

void start_allocator() {
  if (next_allocator.malloc == first_malloc) look_up();
  dl_iterate_phdr(find_range, nullptr);
}

bool allocator_is_unseen() {
  const link_map* const own = own_module();
  return own == nullptr || global_symbol("malloc") != symbol_in(*own, "malloc");
}

bool is_code_of_allocator(const void* code) {
  const auto address = reinterpret_cast<uint64_t>(code);
  return address >= allocator_range.begin && address < allocator_range.end;
}

}  // namespace sampan::preload
