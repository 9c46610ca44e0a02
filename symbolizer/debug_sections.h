// The debug sections of an ELF file, inflated if they are compressed. Only those that names and
// lines need: the sections about variables are often larger than all of these.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "symbolizer/dwarf/sections.h"
#include "symbolizer/elf_file.h"

namespace sampan::symbolizer {

struct DebugSections {
  // Throws Error if a compressed section cannot be inflated.
  explicit DebugSections(const ElfFile& file);

  dwarf::Sections sections;
  dwarf::Sections split;  // ".debug_info.dwo" and so on: of split units
  dwarf::Bytes cu_index;  // of `split`, in a package of such units
  dwarf::Bytes alt_link;  // .gnu_debugaltlink: a path, NUL, a build-id

 private:
  struct Free {
    void operator()(uint8_t* bytes) const { free(bytes); }
  };
  using Buffer = std::unique_ptr<uint8_t, Free>;
  static Buffer allocate(uint64_t size);

  std::vector<Buffer> inflated_;
};

// The size of the compressed sections after inflating, in bytes.
uint64_t inflated_bytes(const ElfFile& file);

}  // namespace sampan::symbolizer
