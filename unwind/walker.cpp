// The memory of our own process, for a walk: the thread's stack is read as it is, any other page
// only after the kernel has said that it is readable (fibers, alternate stacks). No fault can come
// of it.
//
// Freestanding: linked into the target; async-signal-safe. On the walking thread's stack.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/syscall.h"
#include "unwind/walker.h"

namespace sampan::unwind {

class StackMemory {
 public:
  explicit StackMemory(const StackBounds& bounds) : bounds_(bounds) {}

  // [low, high) is stack that `load` may read.
  bool covers(uint64_t low, uint64_t high) const {
    return low >= bounds_.low && high <= bounds_.high && low <= high;
  }
  static uint64_t load(uint64_t avma) {
    uint64_t value;
    std::memcpy(&value, reinterpret_cast<const void*>(avma), sizeof(value));
    return value;
  }

  bool read(uint64_t avma, uint64_t& value) {
    if (!covers(avma, avma + sizeof(value)) &&
        !(readable(avma) && readable(avma + sizeof(value) - 1))) {
      return false;
    }
    value = load(avma);
    return true;
  }

  // Whether the page of `avma` can be read. Each page is asked for once while the walk stays in
  // one stretch of pages.
  bool readable(uint64_t avma) {
    if (avma - probed_low_ < probed_high_ - probed_low_) return true;
    if (avma < kPageSize || avma > kMaxAddress) return false;  // a null set is not looked at
    const uint64_t page = avma & ~(kPageSize - 1);
    if (!bounds_.may_probe || !probe(page)) return false;
    if (page == probed_high_) {
      probed_high_ += kPageSize;
    } else {
      probed_low_ = page;
      probed_high_ = page + kPageSize;
    }
    return true;
  }

 private:
  static constexpr uint64_t kPageSize = 4096;
  static constexpr uint64_t kMaxAddress = (uint64_t{1} << 47) - kPageSize;

  // rt_sigprocmask copies the set from user memory before it looks at `how`: with one that does not
  // exist it is EFAULT for a page that cannot be read and EINVAL for one that can. It changes
  // nothing (kernel/signal.c; abseil's AddressIsReadable does the same).
  static bool probe(uint64_t page) {
    constexpr long kNoSuchHow = -1;
    constexpr size_t kKernelSetSize = 8;
    return raw_syscall(SYS_rt_sigprocmask, kNoSuchHow, page, 0, kKernelSetSize) != -EFAULT;
  }

  StackBounds bounds_;
  uint64_t probed_low_ = 0;  // [probed_low_, probed_high_) is known to be readable
  uint64_t probed_high_ = 0;
};

}  // namespace sampan::unwind
