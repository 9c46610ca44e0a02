// Names of system calls by number.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace sampan::sampler {

// Those of this processor from 0 on, up to where all processors have the same numbers. A number that no call
// has is an empty name.
std::span<const char* const> first_syscall_names();

// "syscall 999" for one that is not known.
std::string syscall_name(int64_t number);

}  // namespace sampan::sampler
