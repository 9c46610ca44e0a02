// CPU time that was used in code of which nobody knows the name, or not the line: by module.
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

// Of a symbolized profile, on CPU. Modules that lack nothing are left out; the one with the most
// unnamed CPU is the first, then by what is on the stack, then by what has no lines.
std::vector<Unresolved> unresolved_by_module(const Profile& profile);

}  // namespace sampan::profile
