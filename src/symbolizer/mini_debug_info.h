// The symbols that Fedora and its relatives leave in stripped files: .gnu_debugdata is an ELF file
// with a .symtab of the functions that .dynsym does not have, compressed with xz (gdb's manual,
// "Debugging information in a special section").
#pragma once

#include <cstdint>
#include <optional>

#include "symbolizer/elf_file.h"

namespace sampan::symbolizer {

// Of the largest programs it is a few megabytes.
inline constexpr uint64_t kMaxMiniDebugInfo = uint64_t{64} << 20;

// None where the file has no such section. Throws Error where it is damaged, or larger than that.
std::optional<ElfFile> mini_debug_info(const ElfFile& file);

}  // namespace sampan::symbolizer
