// The memory of another process as it was at one moment: a copy of a thread's stack, and the pages
// that were read while the thread stood still. A walk of the interpreter's frames (Memory of
// unwind/python_chain.h) can be made of it later, when the thread has run on.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/address.h"

namespace sampan::sampler {

class CapturedMemory {
 public:
  // Forgets all. Pages that are read are captured from `pid` until stop_capture(). `likely`: pages
  // that will probably be read, by address: they are captured at once.
  void start_capture(pid_t pid, std::span<const uint64_t> likely = {});
  void stop_capture() { pid_ = 0; }

  // A copy of the thread's stack, from `low` upwards. It outlives the reads.
  void use_stack(Avma low, std::span<const std::byte> stack) {
    stack_low_ = low;
    stack_ = stack;
  }
  bool on_stack(uint64_t avma) const { return avma - stack_low_ < stack_.size(); }

  // The pages that were read, by address.
  void used_pages(std::vector<uint64_t>& pages) const;
  size_t size() const { return bytes_.size(); }  // captured, in bytes

  bool readable(uint64_t avma, uint64_t size);
  template <typename T>
  bool read(uint64_t avma, T& value) {
    return copy(avma, {reinterpret_cast<std::byte*>(&value), sizeof value});
  }
  // False unless all of it can be read.
  bool copy(uint64_t avma, std::span<std::byte> to);

 private:
  static constexpr uint64_t kPageSize = 4096;
  static constexpr size_t kMostPages = 1024;  // of one capture

  struct Page {
    uint64_t avma;
    size_t at;  // in `bytes_`
    bool is_used;
  };

  void capture(std::span<const uint64_t> pages);
  // The memory from `avma` to the end of its page; empty: there is none.
  std::span<const std::byte> from(uint64_t avma);

  pid_t pid_ = 0;  // 0: nothing more is captured
  uint64_t stack_low_ = 0;
  std::span<const std::byte> stack_;
  std::vector<Page> pages_;  // by address
  std::vector<std::byte> bytes_;
};

}  // namespace sampan::sampler
