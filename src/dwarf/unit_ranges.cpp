// Unit's lists of address ranges: .debug_ranges (DWARF 4, 2.17.3) and .debug_rnglists (DWARF 5,
// 2.17.3 and 7.25).
#include <dwarf.h>

#include "dwarf/unit.h"

namespace sampan::dwarf {

namespace {

// What the linker threw away has ranges that begin at 0, or end before they begin.
void add(uint64_t begin, uint64_t end, std::vector<Range>* ranges) {
  if (begin != 0 && begin < end) ranges->push_back({begin, end});
}

}  // namespace

void Unit::ranges(const Value& low, const Value& high, const Value& list,
                  std::vector<Range>* ranges) const {
  if (list) {
    if (list.form == DW_FORM_rnglistx) {
      const uint64_t size = header_.encoding.offset_size;
      if (list.number > sections_.rnglists.size()) return;
      ByteCursor cursor(behind(sections_.rnglists, rnglists_base_ + list.number * size));
      const uint64_t offset = read_offset(cursor, header_.encoding);
      if (cursor.ok()) range_list_5(rnglists_base_ + offset, ranges);
    } else if (header_.encoding.version >= 5) {
      range_list_5(list.number, ranges);
    } else {
      range_list(ranges_base_ + list.number, ranges);
    }
    return;
  }
  const std::optional<uint64_t> begin = address(low);
  if (!begin || !high) return;
  const std::optional<uint64_t> end = address(high);
  add(*begin, end ? *end : *begin + high.number, ranges);
}

void Unit::range_list(uint64_t offset, std::vector<Range>* ranges) const {
  ByteCursor cursor(behind(old_ranges_, offset));
  const uint64_t base_follows = header_.encoding.address_size == 8 ? UINT64_MAX : UINT32_MAX;
  uint64_t base = low_pc_;
  while (cursor.ok() && !cursor.at_end()) {
    const uint64_t begin = read_address(cursor, header_.encoding);
    const uint64_t end = read_address(cursor, header_.encoding);
    if (!cursor.ok() || (begin == 0 && end == 0)) return;
    if (begin == base_follows) {
      base = end;
    } else if (begin < end) {
      add(base + begin, base + end, ranges);
    }
  }
}

void Unit::range_list_5(uint64_t offset, std::vector<Range>* ranges) const {
  ByteCursor cursor(behind(sections_.rnglists, offset));
  const auto indexed = [&] { return indexed_address(cursor.uleb()).value_or(0); };
  uint64_t base = low_pc_;
  while (cursor.ok() && !cursor.at_end()) {
    switch (cursor.u8()) {
      case DW_RLE_base_addressx: base = indexed(); break;
      case DW_RLE_startx_endx: {
        const uint64_t begin = indexed();
        add(begin, indexed(), ranges);
        break;
      }
      case DW_RLE_startx_length: {
        const uint64_t begin = indexed();
        add(begin, begin + cursor.uleb(), ranges);
        break;
      }
      case DW_RLE_offset_pair: {
        const uint64_t begin = base + cursor.uleb();
        const uint64_t end = base + cursor.uleb();
        add(begin, end, ranges);
        break;
      }
      case DW_RLE_base_address: base = read_address(cursor, header_.encoding); break;
      case DW_RLE_start_end: {
        const uint64_t begin = read_address(cursor, header_.encoding);
        add(begin, read_address(cursor, header_.encoding), ranges);
        break;
      }
      case DW_RLE_start_length: {
        const uint64_t begin = read_address(cursor, header_.encoding);
        add(begin, begin + cursor.uleb(), ranges);
        break;
      }
      default: return;  // DW_RLE_end_of_list, or what is not known
    }
  }
}

}  // namespace sampan::dwarf
