#include "attach/perf_ring.h"

#include <cstring>

namespace sampan::attach {

uint64_t PerfRing::head() const {
  return __atomic_load_n(&control_->data_head, __ATOMIC_ACQUIRE);
}

PerfRing::Record PerfRing::peek(uint64_t limit) {
  if (!current_.empty()) return current_;
  const uint64_t available = limit - position_;
  if (available == 0) return {};
  const size_t offset = position_ & (data_.size() - 1);
  perf_event_header header{};
  // Records are 8-byte aligned, so a header is never split.
  if (available <= data_.size() && available >= sizeof header && offset % sizeof header == 0) {
    std::memcpy(&header, data_.data() + offset, sizeof header);
  }
  if (header.size < sizeof header || header.size % sizeof header != 0 || header.size > available) {
    ++corrupt_;
    release(limit);
    return {};
  }
  const size_t to_end = data_.size() - offset;
  if (header.size <= to_end) return current_ = data_.subspan(offset, header.size);
  wrapped_.resize(header.size);
  std::memcpy(wrapped_.data(), data_.data() + offset, to_end);
  std::memcpy(wrapped_.data() + to_end, data_.data(), header.size - to_end);
  return current_ = wrapped_;
}

void PerfRing::pop() {
  release(position_ + current_.size());
  current_ = {};
}

void PerfRing::release(uint64_t position) {
  position_ = position;
  __atomic_store_n(&control_->data_tail, position, __ATOMIC_RELEASE);
}

}  // namespace sampan::attach
