// A build-id as everybody writes it: "3f2a…", two digits for each byte.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sampan::exporters {

inline std::string build_id_text(const std::vector<uint8_t>& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : bytes) text += {kDigits[byte >> 4], kDigits[byte & 15]};
  return text;
}

}  // namespace sampan::exporters
