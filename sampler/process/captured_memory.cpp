#include "sampler/process/captured_memory.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>

#include "sampler/process/remote_memory.h"

namespace sampan::sampler {
namespace {

// Room for most captures, so that a thread does not wait while memory is allocated.
constexpr size_t kUsualPages = 96;

}  // namespace

void CapturedMemory::start_capture(pid_t pid, std::span<const uint64_t> likely) {
  pid_ = pid;
  stack_low_ = 0;
  stack_ = {};
  stack_size_ = 0;
  pages_.clear();
  bytes_.clear();
  pages_.reserve(kUsualPages);
  bytes_.reserve(kUsualPages * kPageSize);
  capture(likely.first(std::min(likely.size(), kUsualPages)));
}

// One call costs little more than that for one page. It ends at the first page that is not there.
void CapturedMemory::capture(std::span<const uint64_t> pages) {
  if (pages.empty()) return;
  std::array<iovec, kUsualPages> remote;
  for (size_t i = 0; i < pages.size(); ++i) {
    remote[i] = {reinterpret_cast<void*>(pages[i]), kPageSize};
  }
  bytes_.resize(pages.size() * kPageSize);
  const iovec local{bytes_.data(), bytes_.size()};
  const ssize_t read = process_vm_readv(pid_, &local, 1, remote.data(), pages.size(), 0);
  const size_t captured = read > 0 ? static_cast<size_t>(read) / kPageSize : 0;
  bytes_.resize(captured * kPageSize);
  for (size_t i = 0; i < captured; ++i) pages_.push_back({pages[i], i * kPageSize, false});
}

void CapturedMemory::used_pages(std::vector<uint64_t>& pages) const {
  pages.clear();
  for (const Page& page : pages_) {
    if (page.is_used) pages.push_back(page.avma);
  }
}

std::span<const std::byte> CapturedMemory::from(uint64_t avma) {
  if (avma - stack_low_ < stack_.size()) return stack_.subspan(avma - stack_low_);
  if (avma < kPageSize || avma >= kEnd) return {};
  const uint64_t within = avma % kPageSize, page = avma - within;
  const auto place = std::ranges::lower_bound(pages_, page, {}, &Page::avma);
  size_t at = 0;
  if (place != pages_.end() && place->avma == page) {
    at = place->at;
    place->is_used = true;
  } else {
    if (pid_ == 0 || pages_.size() == kMostPages) return {};
    at = bytes_.size();
    bytes_.resize(at + kPageSize);
    if (read_process(pid_, Avma::at(page), &bytes_[at], kPageSize) != kPageSize) {
      bytes_.resize(at);
      return {};
    }
    pages_.insert(place, {page, at, true});
  }
  return std::span<const std::byte>(bytes_).subspan(at + within, kPageSize - within);
}

}  // namespace sampan::sampler
