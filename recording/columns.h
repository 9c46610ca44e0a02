// The primitives of a payload (format.h), written into a growing buffer and read back with checks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_cursor.h"
#include "base/time.h"
#include "recording/tables.h"

namespace sampan::recording {

class ColumnWriter {
 public:
  void u8(uint8_t value) { bytes_.push_back(value); }
  void uleb(uint64_t value) {
    for (; value >= 0x80; value >>= 7) u8(static_cast<uint8_t>(value | 0x80));
    u8(static_cast<uint8_t>(value));
  }
  void u64(uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) u8(static_cast<uint8_t>(value >> (8 * byte)));
  }
  void zigzag(int64_t value) {
    uleb((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
  }
  // The difference of two unsigned values, which may wrap.
  void delta(uint64_t value, uint64_t base) { zigzag(static_cast<int64_t>(value - base)); }
  void ref(uint32_t index) { uleb(index == kNone ? 0 : uint64_t{index} + 1); }
  void string(std::string_view text) {
    uleb(text.size());
    bytes_.insert(bytes_.end(), text.begin(), text.end());
  }
  void maybe(const std::optional<int>& value) {
    u8(value.has_value());
    if (value) zigzag(*value);
  }
  void maybe(const std::optional<uint64_t>& value) {
    u8(value.has_value());
    if (value) uleb(*value);
  }

  std::span<const uint8_t> bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  std::vector<uint8_t> bytes_;
};

// Reads what a ColumnWriter wrote. Fails as ByteCursor does: ok() is false and all reads return 0.
class ColumnReader : public ByteCursor {
 public:
  using ByteCursor::ByteCursor;

  uint32_t uleb32() {
    const uint64_t value = uleb();
    if (value > UINT32_MAX) fail();
    return static_cast<uint32_t>(value);
  }
  int32_t zigzag32() {
    const int64_t value = zigzag();
    if (value != static_cast<int32_t>(value)) fail();
    return static_cast<int32_t>(value);
  }
  uint64_t delta(uint64_t base) { return base + static_cast<uint64_t>(zigzag()); }
  SessionNs time() { return SessionNs::at(uleb()); }
  // A number of rows. Each takes at least so many bytes, so more than the remaining ones hold is an error.
  uint32_t count(size_t row_bytes = 1) {
    const uint64_t value = uleb();
    if (value > remaining() / row_bytes) fail();
    return ok() ? static_cast<uint32_t>(value) : 0;
  }
  // The index of a row of a table of `size` rows.
  uint32_t index(size_t size) {
    const uint64_t value = uleb();
    if (value >= size) fail();
    return static_cast<uint32_t>(value);
  }
  uint32_t ref(size_t size) { return index_of_ref(uleb(), size); }
  uint32_t index_of_ref(uint64_t value, size_t size) {
    if (value > size) fail();
    return value == 0 || !ok() ? kNone : static_cast<uint32_t>(value - 1);
  }
  std::string_view view() {
    const std::span<const uint8_t> bytes = take(count());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::string string() { return std::string(view()); }
  std::optional<int> maybe_i32() {
    return u8() != 0 ? std::optional<int>(zigzag32()) : std::nullopt;
  }
  std::optional<uint64_t> maybe_u64() {
    return u8() != 0 ? std::optional<uint64_t>(uleb()) : std::nullopt;
  }
};

}  // namespace sampan::recording
