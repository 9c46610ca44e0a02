// The memory of another process that stands still, page by page: each is read once.
//
// How much is read, and for how long, has bounds: what leads from place to place is written by that
// process, and its threads are stopped meanwhile. When a bound is reached, nothing more can be read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>

#include "sampler/process/paged_memory.h"

namespace sampan::sampler {

class ProcessPages final : public PagedMemory {
 public:
  using PagedMemory::kPageSize;

  // Copies the page at this address. False: it cannot be read.
  using Fetch = std::function<bool(uint64_t page, std::span<std::byte, kPageSize> to)>;

  // `may_go_on`: asked before a page is fetched, and now and then.
  ProcessPages(Fetch fetch, std::function<bool()> may_go_on)
      : fetch_(std::move(fetch)), may_go_on_(std::move(may_go_on)) {}

  // Something was not read because it was too much, or took too long.
  bool is_cut() const { return is_cut_; }

 private:
  using Page = std::array<std::byte, kPageSize>;

  std::span<const std::byte> from(uint64_t avma) override;

  Fetch fetch_;
  std::function<bool()> may_go_on_;
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;  // null: it cannot be read
  uint64_t last_ = 0;                                          // its page is `last_page_`
  const Page* last_page_ = nullptr;
  unsigned reads_ = 0;
  bool is_cut_ = false;
};

}  // namespace sampan::sampler
