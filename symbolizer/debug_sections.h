// The sections of debug information of an ELF file, inflated where they are compressed. Only those
// that names and lines need: where variables are is often more than all of them.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "dwarf/sections.h"
#include "symbolizer/elf_file.h"

namespace sampan::symbolizer {

struct DebugSections {
  // Throws Error where a section that is compressed cannot be inflated.
  explicit DebugSections(const ElfFile& file);

  dwarf::Sections sections;
  dwarf::Bytes cu_index;  // of a package of split units
  dwarf::Bytes alt_link;  // .gnu_debugaltlink: a path, NUL, a build-id

 private:
  struct Free {
    void operator()(uint8_t* bytes) const { free(bytes); }
  };
  using Buffer = std::unique_ptr<uint8_t, Free>;
  static Buffer allocate(uint64_t size);

  std::vector<Buffer> inflated_;
};

// What these sections have once inflated, of those that are compressed.
uint64_t inflated_bytes(const ElfFile& file);

}  // namespace sampan::symbolizer
