// The memory of another process that is read page by page, and kept. A Memory of
// unwind/python_chain.h and unwind/python_text.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/registers.h"

namespace sampan::sampler {

class PagedMemory {
 public:
  template <typename T>
  bool read(uint64_t avma, T& value) {
    return copy(avma, {reinterpret_cast<std::byte*>(&value), sizeof value});
  }
  bool readable(uint64_t avma, uint64_t size);
  // False unless all of it can be read.
  bool copy(uint64_t avma, std::span<std::byte> to);

 protected:
  static constexpr uint64_t kPageSize = 4096;
  static constexpr uint64_t kEnd = unwind::kEndOfUserSpace - kPageSize;

  PagedMemory() = default;
  PagedMemory(const PagedMemory&) = default;
  PagedMemory& operator=(const PagedMemory&) = default;
  PagedMemory(PagedMemory&&) = default;
  PagedMemory& operator=(PagedMemory&&) = default;
  ~PagedMemory() = default;

 private:
  // The memory from `avma` to the end of what is kept in one piece; empty: there is none.
  virtual std::span<const std::byte> from(uint64_t avma) = 0;
};

}  // namespace sampan::sampler
