// Addresses for the modules of a profile of several processes.
//
// Each process maps a module at a different address, so frames have SVMAs. Formats with one address
// space (pprof) get an artificial one: every module has a range of its own, above all user-space
// addresses, so that code without a module keeps its AVMA. SVMA 0 of a module is at its `base`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace sampan::exporters {

struct MappingRange {
  uint64_t base = 0;
  uint64_t begin = 0;  // of the module's segments and of all locations in it
  uint64_t end = 0;
};

// By module.
std::vector<MappingRange> mapping_ranges(const profile::Profile& profile);

// A build-id in hexadecimal: "3f2a…".
inline std::string build_id_text(const std::vector<uint8_t>& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : bytes) text += {kDigits[byte >> 4], kDigits[byte & 15]};
  return text;
}

}  // namespace sampan::exporters
