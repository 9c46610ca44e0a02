// Large tables in huge pages. The first touch of each page of 4 KB is a fault, and on a virtual machine those of a million
// rows can take longer than all that is done with the rows. Hosted only.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sampan {

// Reserves, as the vector does, and asks the kernel for huge pages if the table is large. If the kernel has none, the
// table is as any other.
template <typename Row>
void reserve_in_huge_pages(size_t size, std::vector<Row>* rows) {
  constexpr size_t kLeast = 4 << 20;  // below, the rest of the last huge page would be a large part
  rows->reserve(size);
  const size_t bytes = rows->capacity() * sizeof(Row);
  if (bytes < kLeast) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(rows->data());
  const uintptr_t first = (begin + page - 1) / page * page, last = (begin + bytes) / page * page;
  madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

}  // namespace sampan
