// Python's marshal format, as CPython's Python/marshal.c reads it: the types of version 4, which
// Python 3.4 and all newer ones read.
//
// Contract: strings are valid UTF-8. Tuples written with remember_tuple() are numbered in the order
// of their begins; recall() writes a reference to one.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace sampan::exporters {

class MarshalWriter {
 public:
  const std::string& bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

  void integer(uint64_t value) {
    if (value <= static_cast<uint64_t>(std::numeric_limits<int32_t>::max())) {
      bytes_ += 'i';
      return fixed(static_cast<uint32_t>(value));
    }
    bytes_ += 'l';  // digits of 15 bits, the lowest first
    uint32_t digits = 0;
    for (uint64_t rest = value; rest != 0; rest >>= 15) ++digits;
    fixed(digits);
    for (; value != 0; value >>= 15) fixed(static_cast<uint16_t>(value & 0x7fff));
  }
  void real(double value) {
    bytes_ += 'g';
    fixed(value);
  }
  void string(std::string_view text) {
    bytes_ += 'u';
    fixed(static_cast<uint32_t>(text.size()));
    bytes_ += text;
  }
  // Followed by `size` objects.
  void tuple(uint8_t size) {
    bytes_ += ')';
    bytes_ += static_cast<char>(size);
  }
  // The same, remembered. Its number is the count of tuples remembered before.
  void remember_tuple(uint8_t size) {
    bytes_ += static_cast<char>(')' | 0x80);  // FLAG_REF
    bytes_ += static_cast<char>(size);
  }
  void recall(uint32_t number) {
    bytes_ += 'r';
    fixed(number);
  }
  // Followed by keys and values in turn, then end_dict().
  void dict() { bytes_ += '{'; }
  void end_dict() { bytes_ += '0'; }

 private:
  // Little-endian, like the host.
  template <typename T>
  void fixed(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }

  std::string bytes_;
};

}  // namespace sampan::exporters
