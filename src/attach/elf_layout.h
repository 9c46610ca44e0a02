// What an ELF file says about how it is loaded: its segments, where its unwind information is, its
// build-id. Read by hand, because the file is hostile: every length is checked.
//
// Format: System V ABI, chapters 4 and 5 (elf(5)); PT_GNU_EH_FRAME and the build-id's note are of
// the Linux Standard Base and GNU binutils.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attach/module_bytes.h"

namespace sampan::attach {

struct ElfLayout {
  struct Segment {
    uint64_t svma;
    uint64_t memory_size;
    uint64_t offset;  // in the file
    uint64_t file_size;
    bool executable;

    bool contains(uint64_t address) const { return address - svma < file_size; }
  };
  std::vector<Segment> segments;  // PT_LOAD; at least one
  uint64_t eh_frame_hdr = 0;      // SVMA; 0: the file has none
  // Section .eh_frame, looked for where there is no .eh_frame_hdr (static programs); size 0: none.
  Segment eh_frame{};
  std::vector<uint8_t> build_id;  // may be empty

  // The segment that is mapped from `offset` of the file on; null when there is none.
  const Segment* mapped_from(uint64_t offset) const;
  // SVMAs of all segments, in whole pages.
  uint64_t begin() const;
  uint64_t end() const;
};

// Nothing for what is no ELF file of x86-64 that can be loaded.
std::optional<ElfLayout> read_elf_layout(const ModuleBytes& bytes);

}  // namespace sampan::attach
