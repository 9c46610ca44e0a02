// The unwind information of a mapped file, copied out of it: what the walker reads of a module of
// another process (Image of unwind/image.h).
//
// A static program has .eh_frame, but often no .eh_frame_hdr with the table that finds the entries:
// then it is made here, before the copy, as a linker would have.
#pragma once

#include <cstdint>
#include <vector>

#include "attach/elf_layout.h"
#include "unwind/image.h"

namespace sampan::attach {

class UnwindImage {
 public:
  UnwindImage() = default;  // none
  // `bias` makes AVMAs of the file's SVMAs. None when the file has no unwind information, or it
  // cannot be read.
  UnwindImage(const ElfLayout& layout, uint64_t bias, const ModuleBytes& bytes);

  uint64_t eh_frame_hdr() const { return eh_frame_hdr_; }  // AVMA; 0: none
  unwind::Image image() const { return {bytes_, start_}; }

 private:
  void copy_with_table(const ElfLayout& layout, uint64_t bias, const ModuleBytes& bytes);
  void copy_and_make_table(const ElfLayout& layout, uint64_t bias, const ModuleBytes& bytes);

  uint64_t eh_frame_hdr_ = 0;
  uint64_t start_ = 0;
  std::vector<uint8_t> bytes_;
};

}  // namespace sampan::attach
