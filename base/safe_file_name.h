// File names for texts such as names of sections and metrics. Different texts have different names,
// and the name depends on the text alone, so a text has the same name everywhere.
//
// Letters, digits and "._+-@=" stay. All other bytes are percent-encoded (RFC 3986, 2.1), "a/b" as
// "a%2Fb", and so is a first character that would make a hidden file or an option. A long name is
// cut and ends in "%-" and a hash of the whole text (FNV-1a, 64 bits); the empty text is "%empty".
// Percent-encoding produces neither of these.
//
// Hosted only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sampan {

// Leaves room for prefixes and suffixes: file systems allow 255 bytes.
inline constexpr size_t kLongestSafeName = 120;

inline bool is_file_safe(char c) {
  constexpr std::string_view kOthers = "._+-@=";
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         kOthers.find(c) != std::string_view::npos;
}

inline void append_hex(std::string* text, uint64_t value, unsigned digits) {
  while (digits-- != 0) *text += "0123456789ABCDEF"[value >> 4 * digits & 0xf];
}

inline std::string safe_file_name(std::string_view text) {
  if (text.empty()) return "%empty";
  std::string name;
  uint64_t hash = 0xcbf29ce484222325;
  size_t cut = 0;  // where a name that is too long is cut: between two bytes of the text
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    hash = (hash ^ byte) * 0x100000001b3;
    if (name.size() > kLongestSafeName) continue;
    if (name.size() + 2 + 16 <= kLongestSafeName) cut = name.size();
    if (is_file_safe(c) && !(name.empty() && (c == '.' || c == '-'))) {
      name += c;
    } else {
      name += '%';
      append_hex(&name, byte, 2);
    }
  }
  if (name.size() <= kLongestSafeName) return name;
  name.resize(cut);
  name += "%-";
  append_hex(&name, hash, 16);
  return name;
}

}  // namespace sampan
