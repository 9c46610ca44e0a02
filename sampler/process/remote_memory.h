// The memory of another process, for a walk (Memory of unwind/stack_walk.h): a copy of the top of
// the thread's stack, and, where the process may be asked, its memory beyond
// (process_vm_readv(2)). A thread that runs meanwhile changes what is read: copy while it is
// stopped, or be sure that it sleeps.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sampan::attach {

// Below the stack pointer, where a leaf function may keep what its unwind information refers to
// (System V ABI, AMD64, "The Stack Frame").
inline constexpr uint64_t kRedZone = 128;

// Copies the stack of a thread, from the red zone of `sp` upwards: to[kRedZone] is the byte at
// `sp`. A red zone that is not mapped is zeros. Returns how many bytes there are, less than asked
// for where the mapping ends.
size_t read_stack(pid_t pid, uint64_t sp, std::span<std::byte> to);

class RemoteMemory {
 public:
  // Copies the red zone and up to `size` bytes from `sp` upwards; less where the mapping ends.
  // `live`: what lies beyond is read when a walk comes there, in larger and larger pieces.
  void copy_stack(pid_t pid, uint64_t sp, size_t size, bool live);
  // A copy that somebody else made, from the AVMA `low` upwards: nothing beyond it can be read.
  void use_copy(uint64_t low, std::span<const std::byte> bytes);
  // The same of a stack that is larger than the copy, and of a thread that has gone on since. What
  // lies beyond is read from the process if the end of the copy is still as it was there: callers
  // are above what they call, so they have not returned either, or nothing has been called since
  // that would have left other traces.
  void use_part(pid_t pid, uint64_t sp, std::span<const std::byte> bytes);

  // The concept of unwind/stack_walk.h.
  bool covers(uint64_t low, uint64_t high) const {
    return low >= low_ && high <= low_ + bytes_.size() && low <= high;
  }
  uint64_t load(uint64_t avma) const;
  bool read(uint64_t avma, uint64_t& value);
  bool readable(uint64_t avma);

  // A read failed above the copy: the stack goes on where nothing was copied.
  bool truncated() const { return truncated_; }

 private:
  bool extend(uint64_t end);
  bool own_copy();
  bool read_elsewhere(uint64_t avma, uint64_t& value);

  pid_t pid_ = 0;     // 0: only the copy
  uint64_t low_ = 0;  // AVMA of the first byte
  std::span<const std::byte> bytes_;
  std::vector<std::byte> own_;
  bool part_ = false;        // `bytes_` is somebody else's, and live memory may follow it
  uint64_t other_page_ = 0;  // AVMA of what `other_` holds; 0: nothing
  std::array<std::byte, 4096> other_;
  bool truncated_ = false;
};

}  // namespace sampan::attach
