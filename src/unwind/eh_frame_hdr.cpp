#include "unwind/eh_frame_hdr.h"

#include <cstring>

#include "unwind/pointer_encoding.h"

namespace sampan::unwind {
namespace {

// The entries of the table that every linker writes: both relative to the start of the header.
struct TableEntry {
  int32_t start;
  int32_t fde;
};

CfiResult search(const Module& module, std::span<const uint8_t> table, uint64_t pc, uint64_t& fde) {
  const auto entry = [&](size_t index) {
    TableEntry result;
    std::memcpy(&result, table.data() + index * sizeof(TableEntry), sizeof(TableEntry));
    return result;
  };
  const int64_t wanted = static_cast<int64_t>(pc - module.eh_frame_hdr);
  size_t first = 0;  // entry(first).start <= wanted, as soon as it is known that there is one
  size_t count = table.size() / sizeof(TableEntry);
  if (count == 0 || entry(0).start > wanted) return CfiResult::kNotCovered;
  // A large table is cold when it is needed, so what counts is how many cache misses come one after
  // the other: eight ways are narrowed at once, and their misses overlap.
  constexpr size_t kWays = 8;
  while (count > kWays * kWays) {
    const size_t part = count / kWays;
    for (size_t way = 1; way < kWays; ++way) {
      __builtin_prefetch(table.data() + (first + way * part) * sizeof(TableEntry));
    }
    size_t way = 0;
    while (way + 1 < kWays && entry(first + (way + 1) * part).start <= wanted) ++way;
    first += way * part;
    count = way + 1 < kWays ? part : count - way * part;
  }
  while (count > 1) {
    const size_t half = count / 2;
    if (entry(first + half).start <= wanted) first += half;
    count -= half;
  }
  fde = module.eh_frame_hdr + static_cast<uint64_t>(int64_t{entry(first).fde});
  return CfiResult::kFound;
}

}  // namespace

CfiResult find_fde(const Module& module, uint64_t pc, uint64_t& fde) {
  if (module.eh_frame_hdr == 0) return CfiResult::kNotCovered;
  ImageCursor cursor = module.image.cursor(module.eh_frame_hdr);
  const uint8_t version = cursor.bytes.u8();
  const uint8_t eh_frame_encoding = cursor.bytes.u8();
  const uint8_t count_encoding = cursor.bytes.u8();
  const uint8_t table_encoding = cursor.bytes.u8();
  if (version != 1 || eh_frame_encoding == kPointerOmitted) return CfiResult::kDamaged;
  const uint64_t eh_frame = read_pointer(cursor, eh_frame_encoding, module.eh_frame_hdr);
  if (!cursor.ok()) return CfiResult::kDamaged;

  if (table_encoding == kPointerDataRelativeSigned4 && count_encoding != kPointerOmitted) {
    const uint64_t count = read_pointer_value(cursor.bytes, count_encoding);
    if (!cursor.ok() || count > cursor.bytes.remaining() / sizeof(TableEntry)) {
      return CfiResult::kDamaged;
    }
    return search(module, cursor.bytes.take(count * sizeof(TableEntry)), pc, fde);
  }
  return scan_for_fde(module.image, eh_frame, pc, fde);
}

}  // namespace sampan::unwind
