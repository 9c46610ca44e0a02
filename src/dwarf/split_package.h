// A .dwp file: the split units of a whole program in one file, with an index by their identity
// (DWARF 5, 7.3.5; before it, the one of GNU's dwp).
#pragma once

#include <cstdint>
#include <optional>

#include "dwarf/sections.h"

namespace sampan::dwarf {

// The parts of the package's sections that belong to one unit; none when it is not in there.
std::optional<Sections> sections_in_package(const Sections& package, Bytes cu_index,
                                            uint64_t dwo_id);

}  // namespace sampan::dwarf
