// Writes integers into a buffer of fixed size. What does not fit marks the writer as failed, and it
// writes nothing more: the caller checks `ok` once, at the end.
//
// Freestanding: linked into the target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace sampan {

class ByteWriter {
 public:
  constexpr explicit ByteWriter(std::span<uint8_t> buffer) : buffer_(buffer) {}

  constexpr bool ok() const { return ok_; }
  constexpr size_t size() const { return size_; }
  std::span<const uint8_t> written() const { return buffer_.first(size_); }

  template <typename T>
  void fixed(const T& value) {
    bytes(&value, sizeof(T));
  }
  void bytes(const void* source, size_t count) {
    if (!ok_ || count > buffer_.size() - size_) {
      ok_ = false;
      return;
    }
    std::memcpy(buffer_.data() + size_, source, count);
    size_ += count;
  }
  // LEB128, unsigned.
  void uleb(uint64_t value) {
    while (ok_) {
      if (size_ == buffer_.size()) {
        ok_ = false;
        return;
      }
      const uint8_t low = value & 0x7f;
      value >>= 7;
      buffer_[size_++] = value != 0 ? low | 0x80 : low;
      if (value == 0) return;
    }
  }
  // Signed values near zero in few bytes: 0, -1, 1, -2, ... become 0, 1, 2, 3, ...
  void zigzag(int64_t value) {
    uleb((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
  }

 private:
  std::span<uint8_t> buffer_;
  size_t size_ = 0;
  bool ok_ = true;
};

}  // namespace sampan
