// The file of the program itself, which the loader's list has without a name.
//
// Ordinary context. Freestanding: linked into the target.
#pragma once

#include <cstdint>
#include <span>

namespace sampan::preload {

// Its path in `buffer`, empty if it is not known. `start`: where its first segment is.
std::span<const char> program_file(uint64_t start, std::span<char> buffer);

}  // namespace sampan::preload
