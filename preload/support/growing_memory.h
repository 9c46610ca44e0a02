// Memory that grows where it is: only what is used counts for the program's address space, and for what mlockall locks.
//
// It lies where nothing grows towards it: the kernel places mappings from the top of the address space down, and heaps above
// programs (kFarPlaces). Nothing is reserved, because a reservation would count too.
//
// Freestanding: linked into the target.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/support/spin_lock.h"

namespace sampan::preload {

// Where `most` bytes are free now, and will hardly be taken; 0: nowhere. Ordinary context.
uint64_t find_far_place(size_t most);

class GrowingMemory {
 public:
  // Zeroes, of which `first` bytes are mapped; all of them where there is no far place. Null: no memory.
  void* start(size_t first, size_t most);
  // A mapping of `mapped` bytes that there is.
  void adopt(void* at, size_t mapped, size_t most);

  // Whether the first `size` bytes can be used. Maps more of them if need be, if a system call may be made. Async-signal-safe.
  bool reach(size_t size, bool may_call) {
    return mapped_.load(std::memory_order_acquire) >= size || (may_call && grow(size));
  }
  size_t mapped() const { return mapped_.load(std::memory_order_acquire); }
  // In a forked child: the lock's holder may not exist here.
  void after_fork() { lock_.unlock(); }

 private:
  bool grow(size_t size);
  bool grow_to(size_t size);

  void* at_ = nullptr;
  std::atomic<size_t> mapped_ = 0;
  size_t most_ = 0;
  SpinLock lock_{};
};

}  // namespace sampan::preload
