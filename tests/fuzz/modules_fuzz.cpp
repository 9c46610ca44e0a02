// Damaged ELF files and memory maps: reading them ends, and so does a walk with the unwind information
// that they have.
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "sampler/process/memory_map.h"
#include "sampler/process/module_image.h"
#include "unwind/cfi.h"

using namespace sampan;
using namespace sampan::sampler;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  parse_map_line({reinterpret_cast<const char*>(data), size});

  const std::vector<uint8_t> file(data, data + size);
  const ModuleBytes bytes = [&file](uint64_t offset, std::span<uint8_t> buffer) -> size_t {
    if (offset >= file.size()) return 0;
    const size_t count = std::min<uint64_t>(buffer.size(), file.size() - offset);
    std::memcpy(buffer.data(), file.data() + offset, count);
    return count;
  };
  const std::optional<ElfLayout> layout = read_elf_layout(bytes);
  if (!layout) return 0;
  const uint64_t begin = layout->begin();
  if (layout->end() < begin) return 0;
  const UnwindImage unwind(*layout, 0x1000, bytes);
  for (const ElfLayout::Segment& segment : layout->segments) {
    layout->mapped_from(segment.offset);
    const uint64_t start = segment.svma + 0x1000;
    const unwind::Module module{start, start + segment.file_size, unwind.eh_frame_hdr(),
                                unwind.image()};
    uint64_t fde = 0;
    unwind::CfiRow row;
    if (find_fde(module, start, fde) == unwind::CfiResult::kFound) {
      uint64_t low = 0;
      uint64_t high = 0;
      read_coverage(module.image, fde, low, high);
      unwind::RecentCies cies;
      find_row(module.image, fde, start, cies, 0, row);
    }
  }
  return 0;
}
