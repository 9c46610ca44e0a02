// Addresses for the modules of a profile that was taken in several processes.
//
// A module has no one address: each process mapped it elsewhere, and its frames are SVMAs. Formats
// with one address space (pprof) get an invented one, in which every module has a range of its own,
// above all addresses of user space, so that code without a module keeps its AVMA. SVMA 0 of a
// module lies at its `base`.
#pragma once

#include <cstdint>
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

}  // namespace sampan::exporters
