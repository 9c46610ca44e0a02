#include "sampler/process/module_image.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/byte_cursor.h"
#include "base/processor.h"
#include "unwind/cfi.h"
#include "unwind/pointer_encoding.h"

namespace sampan::sampler {
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
         header.e_machine == kElfMachine && header.e_phentsize == sizeof(Elf64_Phdr) &&
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
    return {Svma::at(section.sh_addr), section.sh_size, section.sh_offset, section.sh_size, false};
  }
  return {};
}

// Far more than any program has. It keeps a damaged header from asking for all memory.
constexpr uint64_t kLargestImage = uint64_t{512} << 20;

constexpr size_t kHeaderSize = 12;  // of .eh_frame_hdr, as linkers write it, before the table

struct TableEntry {
  int32_t start;  // both relative to .eh_frame_hdr
  int32_t fde;
};

// Calls visit(AVMA) for each FDE of `section`.
template <typename Visit>
void for_each_fde(const unwind::Image& section, Visit&& visit) {
  unwind::ImageCursor cursor = section.cursor(section.start);
  while (cursor.ok() && !cursor.bytes.at_end()) {
    const uint64_t entry = cursor.avma();
    uint64_t length = cursor.bytes.u32();
    if (length == 0) break;
    if (length == UINT32_MAX) length = cursor.bytes.u64();
    ByteCursor content(cursor.bytes.take(length));
    if (cursor.ok() && content.u32() != 0) visit(entry);
  }
}

// `section`'s table: relative to an .eh_frame_hdr at `header`.
std::vector<TableEntry> make_table(const unwind::Image& section, uint64_t header) {
  std::vector<TableEntry> table;
  for_each_fde(section, [&](uint64_t fde) {
    uint64_t start = 0;
    uint64_t end = 0;
    if (read_coverage(section, fde, start, end) != unwind::CfiResult::kFound) return;
    const auto distance = static_cast<int64_t>(start - header);
    if (distance != static_cast<int32_t>(distance)) return;
    table.push_back({static_cast<int32_t>(distance), static_cast<int32_t>(fde - header)});
  });
  std::sort(table.begin(), table.end(),
            [](const TableEntry& a, const TableEntry& b) { return a.start < b.start; });
  return table;
}

template <typename T>
void append(std::vector<uint8_t>& bytes, const T* values, size_t count) {
  const auto* const first = reinterpret_cast<const uint8_t*>(values);
  bytes.insert(bytes.end(), first, first + count * sizeof(T));
}

}  // namespace

std::optional<ElfLayout> read_elf_layout(const ModuleBytes& bytes) {
  const auto header = read_structs<Elf64_Ehdr>(bytes, 0, 1);
  if (header.empty() || !is_supported(header[0])) return std::nullopt;
  ElfLayout layout;
  for (const Elf64_Phdr& entry :
       read_structs<Elf64_Phdr>(bytes, header[0].e_phoff, header[0].e_phnum)) {
    if (entry.p_type == PT_LOAD && entry.p_filesz <= entry.p_memsz) {
      layout.segments.push_back({Svma::at(entry.p_vaddr), entry.p_memsz, entry.p_offset,
                                 entry.p_filesz, (entry.p_flags & PF_X) != 0});
    } else if (entry.p_type == PT_GNU_EH_FRAME) {
      layout.eh_frame_hdr = Svma::at(entry.p_vaddr);
    } else if (entry.p_type == PT_NOTE && layout.build_id.empty()) {
      layout.build_id = read_build_id(bytes, entry);
    }
  }
  if (layout.segments.empty()) return std::nullopt;
  if (layout.eh_frame_hdr == 0) layout.eh_frame = find_section(bytes, header[0], ".eh_frame");
  return layout;
}

const ElfLayout::Segment* ElfLayout::mapped_from(uint64_t offset, bool executable) const {
  // Segments overlap in whole pages: the one that really has the offset comes first.
  for (const uint64_t mask : {uint64_t{0}, kPageMask}) {
    for (const Segment& segment : segments) {
      const uint64_t first = segment.offset & ~kPageMask;
      const uint64_t last = (segment.offset + segment.file_size + mask) & ~mask;
      if (segment.executable == executable && offset >= first && offset < last) return &segment;
    }
  }
  return nullptr;
}

Svma ElfLayout::begin() const {
  uint64_t lowest = UINT64_MAX;
  for (const Segment& segment : segments) lowest = std::min(lowest, segment.svma & ~kPageMask);
  return Svma::at(lowest);
}

Svma ElfLayout::end() const {
  uint64_t highest = 0;
  for (const Segment& segment : segments) {
    highest = std::max(highest, (segment.svma + segment.memory_size + kPageMask) & ~kPageMask);
  }
  return Svma::at(highest);
}

UnwindImage::UnwindImage(const ElfLayout& layout, uint64_t bias, const ModuleBytes& bytes) {
  if (layout.eh_frame_hdr != 0) {
    copy_with_table(layout, bias, bytes);
  } else if (layout.eh_frame.file_size != 0) {
    copy_and_make_table(layout, bias, bytes);
  }
}

// From .eh_frame_hdr, or from .eh_frame where that comes first, to the end of their segment.
void UnwindImage::copy_with_table(const ElfLayout& layout, uint64_t bias,
                                  const ModuleBytes& bytes) {
  for (const ElfLayout::Segment& segment : layout.segments) {
    if (!segment.contains(layout.eh_frame_hdr)) continue;
    uint8_t header[kHeaderSize];
    const uint64_t header_offset = segment.offset + (layout.eh_frame_hdr - segment.svma);
    if (!read_all(bytes, header_offset, header)) return;
    const unwind::Image image{header, layout.eh_frame_hdr};
    unwind::ImageCursor cursor = image.cursor(image.start + 4);
    const auto eh_frame = Svma::at(unwind::read_pointer(cursor, header[1], layout.eh_frame_hdr));
    if (!cursor.ok() || !segment.contains(eh_frame)) return;
    const Svma first = std::min(eh_frame, layout.eh_frame_hdr);
    const uint64_t size = segment.svma + segment.file_size - first;
    if (size > kLargestImage) return;
    bytes_.resize(size);
    bytes_.resize(bytes(segment.offset + (first - segment.svma), bytes_));
    start_ = avma_of(first, bias);
    eh_frame_hdr_ = avma_of(layout.eh_frame_hdr, bias);
    return;
  }
}

void UnwindImage::copy_and_make_table(const ElfLayout& layout, uint64_t bias,
                                      const ModuleBytes& bytes) {
  if (layout.eh_frame.file_size > kLargestImage) return;
  std::vector<uint8_t> section(layout.eh_frame.file_size);
  section.resize(bytes(layout.eh_frame.offset, section));
  const Avma eh_frame = avma_of(layout.eh_frame.svma, bias);
  // The header ends where the section begins, so its own place depends on the table's size.
  size_t count = 0;
  for_each_fde({section, eh_frame}, [&count](uint64_t) { ++count; });
  const Avma header = eh_frame - kHeaderSize - count * sizeof(TableEntry);
  const std::vector<TableEntry> table = make_table({section, eh_frame}, header);
  if (table.empty()) return;

  const uint8_t encodings[4] = {1, 0x1b, 0x03, unwind::kPointerDataRelativeSigned4};
  const auto to_eh_frame = static_cast<int32_t>(eh_frame - header - sizeof encodings);
  const auto entries = static_cast<uint32_t>(table.size());
  append(bytes_, encodings, sizeof encodings);
  append(bytes_, &to_eh_frame, 1);
  append(bytes_, &entries, 1);
  append(bytes_, table.data(), table.size());
  bytes_.resize(eh_frame - header);
  append(bytes_, section.data(), section.size());
  start_ = header;
  eh_frame_hdr_ = header;
}

}  // namespace sampan::sampler
