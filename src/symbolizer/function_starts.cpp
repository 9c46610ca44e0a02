#include "symbolizer/function_starts.h"

#include <gelf.h>

#include <vector>

#include "unwind/cfi.h"
#include "unwind/eh_frame_hdr.h"

namespace sampan::symbolizer {

FunctionStarts::FunctionStarts(const ElfFile& file) {
  Elf* elf = file.handle();
  size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return;
  std::vector<GElf_Phdr> loads;
  uint64_t eh_frame_hdr = 0;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr) return;
    if (header.p_type == PT_LOAD) loads.push_back(header);
    if (header.p_type == PT_GNU_EH_FRAME) eh_frame_hdr = header.p_vaddr;
  }
  for (const GElf_Phdr& load : loads) {
    if (eh_frame_hdr - load.p_vaddr >= load.p_filesz) continue;
    const Elf_Data* data =
        elf_getdata_rawchunk(elf, static_cast<int64_t>(load.p_offset), load.p_filesz, ELF_T_BYTE);
    if (data == nullptr || data->d_buf == nullptr) return;
    module_.eh_frame_hdr = eh_frame_hdr;
    module_.image = {{static_cast<const uint8_t*>(data->d_buf), data->d_size}, load.p_vaddr};
  }
}

std::optional<FunctionStarts::Range> FunctionStarts::last_range(uint64_t svma) const {
  uint64_t fde = 0, start = 0, end = 0;
  if (unwind::find_fde(module_, svma, fde) != unwind::CfiResult::kFound ||
      unwind::read_coverage(module_.image, fde, start, end) != unwind::CfiResult::kFound ||
      svma < start) {
    return std::nullopt;
  }
  return Range{start, end};
}

std::optional<FunctionStarts::Range> FunctionStarts::range(uint64_t svma) const {
  const std::optional<Range> last = last_range(svma);
  return last && svma < last->end ? last : std::nullopt;
}

}  // namespace sampan::symbolizer
