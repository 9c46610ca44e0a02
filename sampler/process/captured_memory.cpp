#include "sampler/process/captured_memory.h"

#include <algorithm>

#include "sampler/process/remote_memory.h"

namespace sampan::sampler {
namespace {

// Room for most captures, so that a thread does not wait while memory is allocated.
constexpr size_t kUsualPages = 96;

constexpr uint64_t kEndOfMemory = (uint64_t{1} << 47) - 4096;

}  // namespace

void CapturedMemory::start_capture(pid_t pid) {
  pid_ = pid;
  stack_low_ = 0;
  stack_ = {};
  pages_.clear();
  bytes_.clear();
  pages_.reserve(kUsualPages);
  bytes_.reserve(kUsualPages * kPageSize);
}

std::span<const std::byte> CapturedMemory::from(uint64_t avma) {
  if (on_stack(avma)) return stack_.subspan(avma - stack_low_);
  if (avma < kPageSize || avma >= kEndOfMemory) return {};
  const uint64_t within = avma % kPageSize, page = avma - within;
  const auto place = std::ranges::lower_bound(pages_, page, {}, &Page::avma);
  size_t at = 0;
  if (place != pages_.end() && place->avma == page) {
    at = place->at;
  } else {
    if (pid_ == 0 || pages_.size() == kMostPages) return {};
    at = bytes_.size();
    bytes_.resize(at + kPageSize);
    if (read_process(pid_, Avma::at(page), &bytes_[at], kPageSize) != kPageSize) {
      bytes_.resize(at);
      return {};
    }
    pages_.insert(place, {page, at});
  }
  return std::span<const std::byte>(bytes_).subspan(at + within, kPageSize - within);
}

bool CapturedMemory::readable(uint64_t avma, uint64_t size) {
  if (size > kEndOfMemory) return false;
  while (size > 0) {
    const size_t part = std::min<uint64_t>(size, from(avma).size());
    if (part == 0) return false;
    avma += part;
    size -= part;
  }
  return true;
}

bool CapturedMemory::copy(uint64_t avma, std::span<std::byte> to) {
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
