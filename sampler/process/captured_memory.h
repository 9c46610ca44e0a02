// The memory of another process as it was at one moment: a copy of a thread's stack, and the pages
// that were read while the thread stood still. A walk of the interpreter's frames (Memory of
// unwind/python_chain.h) can be made of it later, when the thread has run on.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/address.h"
#include "sampler/process/paged_memory.h"

namespace sampan::sampler {

class CapturedMemory final : public PagedMemory {
 public:
  // Forgets all. Pages that are read are captured from `pid` until stop_capture(). `likely`: pages
  // that will probably be read, by address: they are captured at once.
  void start_capture(pid_t pid, std::span<const uint64_t> likely = {});
  void stop_capture() { pid_ = 0; }

  // A copy of the thread's stack, from `low` upwards. It outlives the reads.
  void use_stack(Avma low, std::span<const std::byte> stack) {
    stack_low_ = low;
    stack_ = stack;
    stack_size_ = stack.size();
  }
  // The stack ends below `high`. The copy may go on: into other memory that is mapped behind it.
  void end_stack(Avma high) { stack_size_ = std::min<uint64_t>(stack_size_, high - stack_low_); }
  bool on_stack(uint64_t avma) const { return avma - stack_low_ < stack_size_; }

  // The pages that were read, by address.
  void used_pages(std::vector<uint64_t>& pages) const;
  size_t size() const { return bytes_.size(); }  // captured, in bytes

 private:
  static constexpr size_t kMostPages = 1024;  // of one capture

  struct Page {
    uint64_t avma;
    size_t at;  // in `bytes_`
    bool is_used;
  };

  void capture(std::span<const uint64_t> pages);
  std::span<const std::byte> from(uint64_t avma) override;

  pid_t pid_ = 0;  // 0: nothing more is captured
  uint64_t stack_low_ = 0;
  std::span<const std::byte> stack_;
  uint64_t stack_size_ = 0;  // of the copy, the part that is the stack
  std::vector<Page> pages_;  // by address
  std::vector<std::byte> bytes_;
};

}  // namespace sampan::sampler
