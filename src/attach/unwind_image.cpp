#include "attach/unwind_image.h"

#include <algorithm>
#include <cstring>

#include "unwind/cfi.h"
#include "unwind/pointer_encoding.h"

namespace sampan::attach {
namespace {

// Far more than any program has; keeps a damaged header from asking for all memory.
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
    const uint64_t eh_frame = unwind::read_pointer(cursor, header[1], layout.eh_frame_hdr);
    if (!cursor.ok() || !segment.contains(eh_frame)) return;
    const uint64_t first = std::min(eh_frame, layout.eh_frame_hdr);
    const uint64_t size = segment.svma + segment.file_size - first;
    if (size > kLargestImage) return;
    bytes_.resize(size);
    bytes_.resize(bytes(segment.offset + (first - segment.svma), bytes_));
    start_ = first + bias;
    eh_frame_hdr_ = layout.eh_frame_hdr + bias;
    return;
  }
}

void UnwindImage::copy_and_make_table(const ElfLayout& layout, uint64_t bias,
                                      const ModuleBytes& bytes) {
  if (layout.eh_frame.file_size > kLargestImage) return;
  std::vector<uint8_t> section(layout.eh_frame.file_size);
  section.resize(bytes(layout.eh_frame.offset, section));
  const uint64_t eh_frame = layout.eh_frame.svma + bias;
  // The header ends where the section begins, so its own place depends on the table's size.
  size_t count = 0;
  for_each_fde({section, eh_frame}, [&count](uint64_t) { ++count; });
  const uint64_t header = eh_frame - kHeaderSize - count * sizeof(TableEntry);
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

}  // namespace sampan::attach
