#include "exporters/mapping_ranges.h"

#include <algorithm>

namespace sampan::exporters {
namespace {

constexpr uint64_t kFirst = uint64_t{1} << 48;
constexpr uint64_t kAlignment = uint64_t{1} << 20;
// No real module is longer; larger sizes in damaged recordings are cut.
constexpr uint64_t kLongest = uint64_t{1} << 40;

}  // namespace

std::vector<MappingRange> mapping_ranges(const profile::Profile& profile) {
  struct Extent {
    uint64_t begin = UINT64_MAX, end = 0;
  };
  std::vector<Extent> extents;
  for (const profile::Module& module : profile.modules) {
    extents.push_back(module.svma_begin < module.svma_end
                          ? Extent{module.svma_begin, module.svma_end}
                          : Extent{});
  }
  for (const profile::Location& location : profile.locations) {
    if (location.module == profile::kNone || location.address == UINT64_MAX) continue;
    Extent& extent = extents[location.module];
    extent.begin = std::min(extent.begin, location.address);
    extent.end = std::max(extent.end, location.address + 1);
  }

  std::vector<MappingRange> ranges;
  uint64_t next = kFirst;
  for (const Extent& extent : extents) {
    const uint64_t size =
        extent.begin < extent.end ? std::min(extent.end - extent.begin, kLongest) : 0;
    // The base keeps the module's alignment, so the low digits of its addresses are the SVMA's.
    const uint64_t begin = next + (extent.begin < extent.end ? extent.begin % kAlignment : 0);
    const uint64_t base = begin - (extent.begin < extent.end ? extent.begin : 0);
    ranges.push_back({base, begin, begin + size});
    next = (begin + size + 2 * kAlignment) / kAlignment * kAlignment;  // never adjacent
  }
  return ranges;
}

}  // namespace sampan::exporters
