#include "wire/ring.h"

#include <cstring>

namespace sampan::wire {
namespace {

constexpr size_t kAlignment = 8;
constexpr uint64_t align_up(uint64_t size) {
  return (size + kAlignment - 1) & ~(kAlignment - 1);
}

}  // namespace

// `pad`: bytes that a record of `size` bytes has to skip, for it must not cross the buffer's end.
bool RingWriter::find_place(uint64_t size, size_t reserve, uint64_t& head, uint64_t& pad) const {
  const uint64_t capacity = buffer_.size();
  head = positions_->head.load(std::memory_order_relaxed);
  const uint64_t tail = positions_->tail.load(std::memory_order_acquire);
  const uint64_t used = head - tail;
  const uint64_t offset = head & (capacity - 1);
  pad = capacity - offset < size ? capacity - offset : 0;
  return head % kAlignment == 0 && used <= capacity && pad + size + reserve <= capacity - used;
}

bool RingWriter::has_room(size_t max_payload, size_t reserve) const {
  uint64_t head = 0, pad = 0;
  return find_place(sizeof(RecordHeader) + align_up(max_payload), reserve, head, pad);
}

uint64_t RingWriter::used() const {
  const uint64_t used = positions_->head.load(std::memory_order_relaxed) -
                        positions_->tail.load(std::memory_order_relaxed);
  return used <= buffer_.size() ? used : buffer_.size();
}

std::span<uint8_t> RingWriter::begin(size_t max_payload, size_t reserve) {
  uint64_t head = 0, pad = 0;
  if (!find_place(sizeof(RecordHeader) + align_up(max_payload), reserve, head, pad)) {
    count_dropped();
    return {};
  }
  const uint64_t offset = head & (buffer_.size() - 1);
  if (pad != 0) {
    const RecordHeader padding{static_cast<uint32_t>(pad), kPadding, 0, 0};
    std::memcpy(buffer_.data() + offset, &padding, sizeof padding);
  }
  begin_ = head + pad;
  return buffer_.subspan((begin_ & (buffer_.size() - 1)) + sizeof(RecordHeader), max_payload);
}

void RingWriter::commit(uint8_t type, size_t payload) {
  const uint64_t size = sizeof(RecordHeader) + align_up(payload);
  const RecordHeader header{static_cast<uint32_t>(size), type,
                            static_cast<uint8_t>(align_up(payload) - payload), 0};
  std::memcpy(buffer_.data() + (begin_ & (buffer_.size() - 1)), &header, sizeof header);
  positions_->head.store(begin_ + size, std::memory_order_release);
}

bool RingReader::next(uint64_t limit, Record& record) {
  release();
  while (position_ != limit) {
    const uint64_t capacity = buffer_.size();
    const uint64_t offset = position_ & (capacity - 1);
    const uint64_t available = limit - position_;
    RecordHeader header{};
    if (available > capacity || available < sizeof header || capacity - offset < sizeof header) {
      break;
    }
    std::memcpy(&header, buffer_.data() + offset, sizeof header);
    if (header.size < sizeof header || header.size % kAlignment != 0 || header.size > available ||
        header.size > capacity - offset || header.padding >= kAlignment ||
        header.padding > header.size - sizeof header) {
      break;
    }
    position_ += header.size;
    if (header.type == kPadding) {
      release();
      continue;
    }
    record = {header.type, buffer_.subspan(offset + sizeof header,
                                           header.size - sizeof header - header.padding)};
    return true;
  }
  if (position_ != limit) {
    ++corrupt_;
    position_ = limit;
    release();
  }
  return false;
}

void RingReader::release() {
  positions_->tail.store(position_, std::memory_order_release);
}

}  // namespace sampan::wire
