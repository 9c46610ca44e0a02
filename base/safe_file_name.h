// A file name for any text: of a section, of a metric. Different texts have different names, on
// their own, without knowing of each other; so the same text has the same name everywhere.
//
// Letters, digits and "._+-@=" stay, every other byte is written as in a URL (RFC 3986, 2.1), "a/b"
// as "a%2Fb", and so is what begins a hidden file or an option. A name that would be long ends in
// "%-" and a hash of the whole text instead (FNV-1a, 64 bits); the empty text is "%empty". Neither
// is what a byte is written as.
//
// Hosted only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sampan {

// Leaves room for what callers put before or behind it: file systems want at most 255.
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
