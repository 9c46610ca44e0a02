// The memory of another process, for a walk (Memory of unwind/stack_walk.h): a copy of the top of a
// thread's stack, and, if it may be read, the memory beyond the copy (process_vm_readv(2)). A
// thread that runs meanwhile changes what is read: copy while it is stopped, or while it surely
// sleeps.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/address.h"

namespace sampan::sampler {

// Bytes below the stack pointer in which a leaf function may keep what its unwind information
// refers to (System V ABI, AMD64, "The Stack Frame").
inline constexpr uint64_t kRedZone = 128;

// Reads the memory of a process (process_vm_readv(2)). Returns how many bytes it could read.
size_t read_process(pid_t pid, Avma avma, void* buffer, size_t size);

// Copies the stack of a thread, from the red zone of `sp` upwards: to[kRedZone] is the byte at
// `sp`. A red zone that is not mapped reads as zeros. Returns how many bytes were copied: fewer
// than asked for when the mapping ends.
size_t read_stack(pid_t pid, Avma sp, std::span<std::byte> to);

class RemoteMemory {
 public:
  // Copies the red zone and up to `size` bytes from `sp` upwards; fewer when the mapping ends.
  // `live`: what lies beyond is read when a walk gets there, in larger and larger pieces.
  void copy_stack(pid_t pid, Avma sp, size_t size, bool live);
  // A copy that somebody else made, from `low` upwards: nothing beyond it can be read.
  void use_copy(Avma low, std::span<const std::byte> bytes);
  // The same for a stack that is larger than the copy, of a thread that has run on since. What lies
  // beyond is read from the process if the end of the copy is unchanged there: callers lie above
  // what they call, so these have not returned, or nothing was called since that would have left
  // other words.
  void use_part(pid_t pid, Avma sp, std::span<const std::byte> bytes);

  // The concept of unwind/stack_walk.h.
  bool covers(uint64_t low, uint64_t high) const {
    return low >= low_ && high <= low_ + bytes_.size() && low <= high;
  }
  uint64_t load(uint64_t avma) const;
  bool read(uint64_t avma, uint64_t& value);
  bool readable(uint64_t avma);
  // A page of what is read off the stack is kept: code that was made at run time may have changed
  // since.
  void forget_elsewhere() { other_page_ = 0; }

  // What was copied so far.
  Avma low() const { return low_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  // A read failed above the copy: the stack is larger than the copy.
  bool truncated() const { return truncated_; }

 private:
  bool extend(uint64_t end);
  bool own_copy();
  bool read_elsewhere(uint64_t avma, uint64_t& value);

  pid_t pid_ = 0;  // 0: only the copy
  Avma low_ = 0;   // of the first byte
  std::span<const std::byte> bytes_;
  std::vector<std::byte> own_;
  bool part_ = false;        // `bytes_` is not ours, and live memory may follow it
  uint64_t other_page_ = 0;  // AVMA of what `other_` holds; 0: nothing
  std::array<std::byte, 4096> other_;
  bool truncated_ = false;
};

}  // namespace sampan::sampler
