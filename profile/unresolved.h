// CPU time in code whose name or line is not known, by module.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/profile.h"

namespace sampan::profile {

struct Unresolved {
  uint32_t module = kNone;        // kNone: code that was made at run time
  uint64_t unnamed_ns = 0;        // CPU of samples that were taken in functions without a name
  uint64_t on_stack_ns = 0;       // with such a function anywhere on the stack
  uint64_t without_lines_ns = 0;  // taken in functions with a name, but without a line
};

// Counts the samples on CPU of a symbolized profile. Complete modules are left out. Sorted by unnamed
// CPU, then by on_stack_ns, then by without_lines_ns, largest first.
std::vector<Unresolved> unresolved_by_module(const Profile& profile);

}  // namespace sampan::profile
