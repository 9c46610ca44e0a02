#include "attach/elf_layout.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/byte_cursor.h"

namespace sampan::attach {
namespace {

constexpr uint64_t kPageMask = 4095;
constexpr size_t kMostProgramHeaders = 512;
constexpr size_t kMostSectionHeaders = 8192;
constexpr size_t kLongestNotes = size_t{64} << 10;
constexpr size_t kLongestNames = size_t{1} << 20;
constexpr size_t kLongestBuildId = 64;

// `count` structs at `offset`; empty when they are not all there.
template <typename Struct>
std::vector<Struct> read_structs(const ModuleBytes& bytes, uint64_t offset, size_t count) {
  std::vector<Struct> result(count);
  uint8_t* const data = reinterpret_cast<uint8_t*>(result.data());
  if (!read_all(bytes, offset, {data, count * sizeof(Struct)})) result.clear();
  return result;
}

bool is_supported(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
         header.e_machine == EM_X86_64 && header.e_phentsize == sizeof(Elf64_Phdr) &&
         header.e_phnum <= kMostProgramHeaders;
}

std::vector<uint8_t> find_build_id(std::span<const uint8_t> notes, size_t alignment) {
  ByteCursor cursor(notes);
  const auto align = [&] {
    cursor.skip(
        std::min((alignment - cursor.offset() % alignment) % alignment, cursor.remaining()));
  };
  while (cursor.ok() && !cursor.at_end()) {
    const uint32_t name_size = cursor.u32();
    const uint32_t size = cursor.u32();
    const uint32_t type = cursor.u32();
    const std::span<const uint8_t> name = cursor.take(name_size);
    align();
    const std::span<const uint8_t> id = cursor.take(size);
    align();
    if (cursor.ok() && type == NT_GNU_BUILD_ID && name.size() == 4 &&
        std::memcmp(name.data(), "GNU", 4) == 0) {
      return {id.begin(), id.begin() + std::min(id.size(), kLongestBuildId)};
    }
  }
  return {};
}

std::vector<uint8_t> read_build_id(const ModuleBytes& bytes, const Elf64_Phdr& notes) {
  const auto content =
      read_structs<uint8_t>(bytes, notes.p_offset, std::min(notes.p_filesz, kLongestNotes));
  return find_build_id(content, notes.p_align == 8 ? 8 : 4);
}

ElfLayout::Segment find_section(const ModuleBytes& bytes, const Elf64_Ehdr& header,
                                std::string_view wanted) {
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum > kMostSectionHeaders ||
      header.e_shstrndx >= header.e_shnum) {
    return {};
  }
  const auto sections = read_structs<Elf64_Shdr>(bytes, header.e_shoff, header.e_shnum);
  if (sections.empty()) return {};
  const Elf64_Shdr& strings = sections[header.e_shstrndx];
  const auto names =
      read_structs<char>(bytes, strings.sh_offset, std::min(strings.sh_size, kLongestNames));
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_name >= names.size() || section.sh_type == SHT_NOBITS) continue;
    const size_t room = names.size() - section.sh_name;
    const char* const name = names.data() + section.sh_name;
    if (std::string_view(name, strnlen(name, room)) != wanted) continue;
    return {section.sh_addr, section.sh_size, section.sh_offset, section.sh_size, false};
  }
  return {};
}

}  // namespace

std::optional<ElfLayout> read_elf_layout(const ModuleBytes& bytes) {
  const auto header = read_structs<Elf64_Ehdr>(bytes, 0, 1);
  if (header.empty() || !is_supported(header[0])) return std::nullopt;
  ElfLayout layout;
  for (const Elf64_Phdr& entry :
       read_structs<Elf64_Phdr>(bytes, header[0].e_phoff, header[0].e_phnum)) {
    if (entry.p_type == PT_LOAD && entry.p_filesz <= entry.p_memsz) {
      layout.segments.push_back({entry.p_vaddr, entry.p_memsz, entry.p_offset, entry.p_filesz,
                                 (entry.p_flags & PF_X) != 0});
    } else if (entry.p_type == PT_GNU_EH_FRAME) {
      layout.eh_frame_hdr = entry.p_vaddr;
    } else if (entry.p_type == PT_NOTE && layout.build_id.empty()) {
      layout.build_id = read_build_id(bytes, entry);
    }
  }
  if (layout.segments.empty()) return std::nullopt;
  if (layout.eh_frame_hdr == 0) layout.eh_frame = find_section(bytes, header[0], ".eh_frame");
  return layout;
}

const ElfLayout::Segment* ElfLayout::mapped_from(uint64_t offset) const {
  // Segments overlap in whole pages: the one that really has the offset comes first.
  for (const uint64_t mask : {uint64_t{0}, kPageMask}) {
    for (const Segment& segment : segments) {
      const uint64_t first = segment.offset & ~kPageMask;
      const uint64_t last = (segment.offset + segment.file_size + mask) & ~mask;
      if (segment.executable && offset >= first && offset < last) return &segment;
    }
  }
  return nullptr;
}

uint64_t ElfLayout::begin() const {
  uint64_t lowest = UINT64_MAX;
  for (const Segment& segment : segments) lowest = std::min(lowest, segment.svma & ~kPageMask);
  return lowest;
}

uint64_t ElfLayout::end() const {
  uint64_t highest = 0;
  for (const Segment& segment : segments) {
    highest = std::max(highest, (segment.svma + segment.memory_size + kPageMask) & ~kPageMask);
  }
  return highest;
}

}  // namespace sampan::attach
