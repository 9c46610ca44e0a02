// Reads integers from untrusted bytes. Every read is checked: a read past the end marks the cursor
// as failed. It then returns zeros and never moves beyond the end.
//
// Freestanding: linked into the target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace sampan {

class ByteCursor {
 public:
  constexpr ByteCursor() = default;
  constexpr explicit ByteCursor(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  constexpr bool ok() const { return ok_; }
  constexpr bool at_end() const { return offset_ == bytes_.size(); }
  constexpr size_t offset() const { return offset_; }
  constexpr size_t remaining() const { return bytes_.size() - offset_; }
  constexpr void fail() {
    ok_ = false;
    offset_ = bytes_.size();
  }

  // A little-endian integer of the host's own layout, at any alignment.
  template <typename T>
  T fixed() {
    T value{};
    if (std::span<const uint8_t> source = take(sizeof(T)); !source.empty()) {
      std::memcpy(&value, source.data(), sizeof(T));
    }
    return value;
  }
  uint8_t u8() { return fixed<uint8_t>(); }
  uint16_t u16() { return fixed<uint16_t>(); }
  uint32_t u32() { return fixed<uint32_t>(); }
  uint64_t u64() { return fixed<uint64_t>(); }

  // LEB128 as in DWARF 5, 7.6. A value of more than 64 bits fails. Nearly all values have one byte;
  // the others are out of line, because callers run with a cold instruction cache.
  uint64_t uleb() {
    if (remaining() != 0 && bytes_[offset_] < 0x80) return bytes_[offset_++];
    return long_uleb();
  }
  int64_t sleb() {
    if (remaining() != 0 && bytes_[offset_] < 0x40) return bytes_[offset_++];
    return long_sleb();
  }
  // A signed value as `zigzag` of byte_writer.h wrote it.
  int64_t zigzag() {
    const uint64_t value = uleb();
    return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
  }

  // The next `size` bytes; empty, and the cursor failed, when there are fewer.
  constexpr std::span<const uint8_t> take(size_t size) {
    if (size > remaining()) {
      fail();
      return {};
    }
    const std::span<const uint8_t> result = bytes_.subspan(offset_, size);
    offset_ += size;
    return result;
  }
  constexpr void skip(size_t size) { take(size); }

 private:
  [[gnu::noinline]] uint64_t long_uleb() {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const uint8_t byte = u8();
      if (!ok_) return 0;
      const uint64_t bits = byte & 0x7f;
      if (shift >= 64 || (shift == 63 && bits > 1)) {
        fail();
        return 0;
      }
      value |= bits << shift;
      if ((byte & 0x80) == 0) return value;
    }
  }
  [[gnu::noinline]] int64_t long_sleb() {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const uint8_t byte = u8();
      if (!ok_) return 0;
      if (shift >= 64) {
        fail();
        return 0;
      }
      value |= uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) {
        if ((byte & 0x40) != 0 && shift + 7 < 64) value |= ~uint64_t{0} << (shift + 7);
        return static_cast<int64_t>(value);
      }
    }
  }

  std::span<const uint8_t> bytes_;
  size_t offset_ = 0;
  bool ok_ = true;
};

}  // namespace sampan
