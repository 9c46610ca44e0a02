// Times are in nanoseconds.
//
// Freestanding: linked into the target.
#pragma once

#include <cstdint>

namespace sampan {

inline constexpr uint64_t kNsPerUs = 1'000;
inline constexpr uint64_t kNsPerMs = 1'000'000;
inline constexpr uint64_t kNsPerSecond = 1'000'000'000;

}  // namespace sampan
