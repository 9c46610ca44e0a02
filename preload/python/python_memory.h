// The memory of the calling thread, for reading an interpreter's structures. The C stack and the
// newest chunk of frames are read directly. Any other page is probed first, once in a while: the
// structures of a thread's own stack stay where they are as long as it stands still, but a pointer
// that the interpreter has not written yet may lead anywhere.
//
// Freestanding: linked into the target; async-signal-safe.
#pragma once

#include <cstdint>
#include <cstring>

#include "unwind/registers.h"
#include "unwind/walker.h"

namespace sampan::preload {

// Pages that were readable when they were probed.
class ReadablePages {
 public:
  bool contains(uint64_t page) const { return pages_[slot(page)] == page; }
  void insert(uint64_t page) { pages_[slot(page)] = page; }
  void clear() { std::memset(pages_, 0, sizeof pages_); }

 private:
  static constexpr size_t kCount = 1024;  // of 30,000 frames of Python: 750
  static size_t slot(uint64_t page) { return (page >> 12) % kCount; }
  uint64_t pages_[kCount];
};

class PythonMemory {
 public:
  PythonMemory(const unwind::StackBounds& stack, ReadablePages& pages)
      : stack_(stack), pages_(pages) {}

  // [low, high) is memory of the thread that stays mapped during the walk.
  void trust(uint64_t low, uint64_t high) {
    low_ = low;
    high_ = high;
  }

  bool on_stack(uint64_t avma) const { return avma >= stack_.low && avma < stack_.high; }

  bool readable(uint64_t avma, uint64_t size) {
    if (avma < kPageMask || avma > kMaxAddress || size > kMaxAddress - avma) return false;
    if (within(avma, size, stack_.low, stack_.high) || within(avma, size, low_, high_)) return true;
    for (uint64_t page = avma & ~kPageMask; page < avma + size; page += kPageMask + 1) {
      if (pages_.contains(page)) continue;
      if (!stack_.may_probe || !unwind::is_mapped(page)) return false;
      pages_.insert(page);
    }
    return true;
  }

  template <typename T>
  bool read(uint64_t avma, T& value) {
    if (!readable(avma, sizeof value)) return false;
    std::memcpy(&value, reinterpret_cast<const void*>(avma), sizeof value);
    return true;
  }

 private:
  static constexpr uint64_t kPageMask = 4095;
  static constexpr uint64_t kMaxAddress = unwind::kEndOfUserSpace - kPageMask - 1;
  static bool within(uint64_t avma, uint64_t size, uint64_t low, uint64_t high) {
    return avma >= low && avma < high && size <= high - avma;
  }

  const unwind::StackBounds& stack_;
  ReadablePages& pages_;
  uint64_t low_ = 0, high_ = 0;
};

}  // namespace sampan::preload
