#include "preload/process/shared_memory.h"

#include <sys/mman.h>

#include <algorithm>

#include "base/syscall.h"
#include "preload/process/process.h"
#include "preload/support/growing_memory.h"

namespace sampan::preload {
namespace {

constexpr uint32_t kFirstSlots = 4;

// From the beginning, and from the markers on.
constinit GrowingMemory front;
constinit GrowingMemory rest;

bool map(void* at, size_t size, int flags, int memfd, size_t offset) {
  const long mapped =
      raw_syscall(SYS_mmap, at, size, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, memfd, offset);
  if (mapped != reinterpret_cast<long>(at)) return false;
  raw_syscall(SYS_madvise, at, size, MADV_DONTDUMP);
  return true;
}

uint8_t* rest_of(void* shared, const wire::MemoryShape& shape) {
  return static_cast<uint8_t*>(shared) + shape.markers_offset();
}

void adopt(void* shared, const wire::MemoryShape& shape, size_t front_size, size_t rest_size) {
  front.adopt(shared, front_size, shape.markers_offset());
  rest.adopt(rest_of(shared, shape), rest_size, wire::kAfterSlots);
}

// All of it, at a place of the kernel's. What the memory has not is private, and stays empty.
void* map_whole(int memfd, const wire::MemoryShape& shape) {
  const long mapped = raw_syscall(SYS_mmap, nullptr, shape.mapped_size(), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped < 0 && mapped > -4096) return nullptr;
  auto* const shared = reinterpret_cast<void*>(mapped);
  adopt(shared, shape, shape.markers_offset(), wire::kAfterSlots);
  return map(shared, shape.size(), MAP_SHARED | MAP_FIXED, memfd, 0) ? shared : nullptr;
}

bool may_call() {
  return !this_process.seccomp_filtered.load(std::memory_order_relaxed);
}

}  // namespace

void* map_shared(int memfd, const wire::MemoryShape& shape) {
  const uint64_t place = shape.markers ? find_far_place(shape.mapped_size()) : 0;
  if (place == 0) return map_whole(memfd, shape);
  auto* const shared = reinterpret_cast<void*>(place);
  const size_t first =
      std::min(wire::MemoryShape{kFirstSlots}.markers_offset(), shape.markers_offset());
  if (!map(shared, first, MAP_SHARED | MAP_FIXED_NOREPLACE, memfd, 0)) return nullptr;
  // What the rest will grow from: no descriptor is kept.
  if (!map(rest_of(shared, shape), wire::kPage, MAP_SHARED | MAP_FIXED_NOREPLACE, memfd,
           shape.markers_offset())) {
    raw_syscall(SYS_munmap, shared, first);
    return nullptr;
  }
  adopt(shared, shape, first, wire::kPage);
  return shared;
}

bool map_shared_again(int memfd, const wire::MemoryShape& shape, void* at) {
  front.after_fork();
  rest.after_fork();
  if (!shape.markers) return map(at, shape.size(), MAP_SHARED | MAP_FIXED, memfd, 0);
  return map(at, front.mapped(), MAP_SHARED | MAP_FIXED, memfd, 0) &&
         map(rest_of(at, shape), rest.mapped(), MAP_SHARED | MAP_FIXED, memfd,
             shape.markers_offset());
}

void unmap_shared(void* at, const wire::MemoryShape& shape) {
  raw_syscall(SYS_munmap, at, front.mapped());
  raw_syscall(SYS_munmap, rest_of(at, shape), rest.mapped());
}

bool map_slot(uint32_t slot) {
  return front.reach(wire::MemoryShape{slot + 1}.markers_offset(), may_call());
}

bool map_markers() {
  return this_process.shape.markers && rest.reach(wire::kAfterSlots, may_call());
}

}  // namespace sampan::preload
