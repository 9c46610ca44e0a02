// What is read of a mapped ELF file: how it is loaded (its segments, where its unwind information
// is, its build-id), and a copy of the unwind information. Read by hand, because the file is
// hostile: every length is checked.
//
// Format: System V ABI, chapters 4 and 5 (elf(5)); PT_GNU_EH_FRAME and the build-id's note are
// defined by the Linux Standard Base and GNU binutils.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/address.h"
#include "sampler/process/module_file.h"
#include "unwind/image.h"

namespace sampan::sampler {

struct ElfLayout {
  struct Segment {
    Svma svma;
    uint64_t memory_size;
    uint64_t offset;  // in the file
    uint64_t file_size;
    bool executable;

    bool contains(Svma address) const { return address - svma < file_size; }
  };
  std::vector<Segment> segments;  // PT_LOAD; at least one
  Svma eh_frame_hdr = 0;          // 0: the file has none
  // Section .eh_frame, if there is no .eh_frame_hdr (static programs); size 0: none.
  Segment eh_frame{};
  std::vector<uint8_t> build_id;  // may be empty

  // The segment that is mapped from `offset` of the file on, of those that are executable or are not; null when there is none.
  const Segment* mapped_from(uint64_t offset, bool executable = true) const;
  // The range of all segments, in whole pages.
  Svma begin() const;
  Svma end() const;
};

// Nothing unless the bytes are an ELF file of this processor that can be loaded.
std::optional<ElfLayout> read_elf_layout(const ModuleBytes& bytes);

// The unwind information, for the walker of another process (Image of unwind/image.h). A static
// program has .eh_frame, but often no .eh_frame_hdr with the search table. Then it is made here, as
// a linker would have made it, in front of the copy.
class UnwindImage {
 public:
  UnwindImage() = default;  // none
  // `bias` makes AVMAs of the file's SVMAs. None when the file has no unwind information, or it
  // cannot be read.
  UnwindImage(const ElfLayout& layout, uint64_t bias, const ModuleBytes& bytes);

  Avma eh_frame_hdr() const { return eh_frame_hdr_; }  // 0: none
  unwind::Image image() const { return {bytes_, start_}; }

 private:
  void copy_with_table(const ElfLayout& layout, uint64_t bias, const ModuleBytes& bytes);
  void copy_and_make_table(const ElfLayout& layout, uint64_t bias, const ModuleBytes& bytes);

  Avma eh_frame_hdr_ = 0;
  Avma start_ = 0;
  std::vector<uint8_t> bytes_;
};

}  // namespace sampan::sampler
