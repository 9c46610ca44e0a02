// Columns of numbers as profile.html carries them: small, and quick to read for a page. Read by
// src/viewer/data/columns.js.
//
//   numbers  the difference of each to the one before (the first: to 0), zigzag-encoded as in
//            Protocol Buffers' sint64, as LEB128
//   flags    a byte each
//   doubles  8 bytes each, IEEE 754, little-endian
//
// Both are little before compression and compress well: what repeats becomes zeros.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sampan::exporters {

class PageColumn {
 public:
  enum class Kind { kNumbers, kFlags, kDoubles };

  explicit PageColumn(std::string_view name, Kind kind = Kind::kNumbers)
      : name_(name), kind_(kind) {}

  void add(int64_t value) {
    ++count_;
    if (kind_ == Kind::kFlags) {
      bytes_ += static_cast<char>(value);
      return;
    }
    const int64_t difference = value - last_;
    last_ = value;
    uint64_t rest =
        static_cast<uint64_t>(difference) << 1 ^ static_cast<uint64_t>(difference >> 63);
    for (; rest >= 0x80; rest >>= 7) bytes_ += static_cast<char>(rest | 0x80);
    bytes_ += static_cast<char>(rest);
  }

  void add_double(double value) {
    ++count_;
    const auto bits = std::bit_cast<uint64_t>(value);
    for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(bits >> shift);
  }

  const std::string& name() const { return name_; }
  Kind kind() const { return kind_; }
  size_t count() const { return count_; }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string name_;
  Kind kind_;
  size_t count_ = 0;
  int64_t last_ = 0;
  std::string bytes_;
};

}  // namespace sampan::exporters
