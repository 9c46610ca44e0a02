#include "preload/support/growing_memory.h"

#include <sys/mman.h>

#include <algorithm>

#include "base/syscall.h"
#include "preload/support/machine.h"

namespace sampan::preload {
namespace {

constexpr uint64_t kBetweenPlaces = uint64_t{1} << 34;
constexpr unsigned kPlaces = 16;
constexpr int kAnonymous = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
constexpr unsigned kLockYields = 10'000;
constexpr size_t kPage = 4096;

bool is_error(long address) {
  return address < 0 && address > -4096;
}

size_t whole_pages(size_t size) {
  return (size + kPage - 1) / kPage * kPage;
}

// As random as the place of the shim: others are not to know where it is.
uint64_t random_distance() {
  return (reinterpret_cast<uint64_t>(&find_far_place) >> 12 & 0x7fff) << 20;
}

}  // namespace

uint64_t find_far_place(size_t most) {
  for (unsigned i = 0; kFarPlaces != 0 && i < kPlaces; ++i) {
    const uint64_t place = kFarPlaces + i * kBetweenPlaces + random_distance();
    const long mapped =
        raw_syscall(SYS_mmap, place, most, PROT_NONE, kAnonymous | MAP_FIXED_NOREPLACE, -1, 0);
    if (is_error(mapped)) continue;
    raw_syscall(SYS_munmap, mapped, most);
    // Kernels before 4.17 take the place for a hint.
    if (static_cast<uint64_t>(mapped) == place) return place;
  }
  return 0;
}

void* GrowingMemory::start(size_t first, size_t most) {
  most = whole_pages(most);
  const uint64_t place = find_far_place(most);
  const size_t size = place != 0 ? std::min(whole_pages(first), most) : most;
  const long mapped = raw_syscall(SYS_mmap, place, size, PROT_READ | PROT_WRITE,
                                  kAnonymous | (place != 0 ? MAP_FIXED_NOREPLACE : 0), -1, 0);
  if (is_error(mapped)) return nullptr;
  adopt(reinterpret_cast<void*>(mapped), size, most);
  return at_;
}

void GrowingMemory::adopt(void* at, size_t mapped, size_t most) {
  at_ = at;
  most_ = most;
  mapped_.store(mapped, std::memory_order_release);
}

bool GrowingMemory::grow_to(size_t size) {
  const size_t before = mapped_.load(std::memory_order_relaxed);
  if (raw_syscall(SYS_mremap, at_, before, size, 0) != reinterpret_cast<long>(at_)) return false;
  // The program may lock all memory that it has and will have (mlockall). This would count for its limit.
  raw_syscall(SYS_munlock, at_, size);
  mapped_.store(size, std::memory_order_release);
  return true;
}

// By twice as much as before, if there is so much memory.
bool GrowingMemory::grow(size_t size) {
  if (size > most_) return false;
  const SignalsBlocked blocked;
  if (!lock_.lock_for(kLockYields)) return false;
  const size_t before = mapped_.load(std::memory_order_relaxed);
  size = whole_pages(size);
  const bool reached =
      before >= size || grow_to(std::min(std::max(size, 2 * before), most_)) || grow_to(size);
  lock_.unlock();
  return reached;
}

}  // namespace sampan::preload
