#include "sampler/process/paged_memory.h"

#include <algorithm>
#include <cstring>

namespace sampan::sampler {

bool PagedMemory::readable(uint64_t avma, uint64_t size) {
  if (size > kEnd) return false;
  while (size > 0) {
    const size_t part = std::min<uint64_t>(size, from(avma).size());
    if (part == 0) return false;
    avma += part;
    size -= part;
  }
  return true;
}

bool PagedMemory::copy(uint64_t avma, std::span<std::byte> to) {
  while (!to.empty()) {
    const std::span<const std::byte> there = from(avma);
    const size_t part = std::min(to.size(), there.size());
    if (part == 0) return false;
    std::memcpy(to.data(), there.data(), part);
    to = to.subspan(part);
    avma += part;
  }
  return true;
}

}  // namespace sampan::sampler
