#include "unwind/cfi.h"

#include <cstring>

#include "unwind/cfi_program.h"
#include "unwind/pointer_encoding.h"

namespace sampan::unwind {
namespace {

// What CIEs and FDEs have in common.
struct Entry {
  ImageCursor body;  // behind the id, up to the end of the entry
  uint64_t cie;      // AVMA of an FDE's CIE; 0: this is a CIE
  uint64_t end;      // AVMA of the next entry
};

// The code that an FDE covers, AVMAs: [start, start + size).
struct Code {
  uint64_t start;
  uint64_t size;

  bool contains(uint64_t pc) const { return pc - start < size; }
};

// kNotCovered: the terminator of .eh_frame.
CfiResult read_entry(const Image& image, uint64_t avma, Entry& entry) {
  ImageCursor cursor = image.cursor(avma);
  uint64_t length = cursor.bytes.u32();
  if (!cursor.ok()) return CfiResult::kDamaged;
  if (length == 0) return CfiResult::kNotCovered;
  if (length == 0xffffffff) length = cursor.bytes.u64();
  if (!cursor.ok() || length > cursor.bytes.remaining()) return CfiResult::kDamaged;
  const uint64_t id_avma = cursor.avma();
  const uint32_t id = cursor.bytes.u32();
  if (!cursor.ok()) return CfiResult::kDamaged;
  entry.end = id_avma + length;
  entry.cie = id == 0 ? 0 : id_avma - id;
  entry.body = image.cursor(cursor.avma(), entry.end);
  return entry.body.ok() ? CfiResult::kFound : CfiResult::kDamaged;
}

// The augmentation string says what is in the augmentation data, letter by letter.
bool read_augmentation(ImageCursor& cursor, ByteCursor& letters, Cie& cie) {
  uint64_t data_end = 0;
  for (;;) {
    const uint8_t letter = letters.u8();
    switch (letter) {
      case 0:
        if (cie.has_augmentation_data) {
          if (cursor.avma() > data_end) return false;
          cursor.bytes.skip(data_end - cursor.avma());
        }
        return cursor.ok() && letters.ok();
      case 'z': {
        const uint64_t size = cursor.bytes.uleb();
        cie.has_augmentation_data = true;
        data_end = cursor.avma() + size;
        break;
      }
      case 'R': cie.alignment.pointer_encoding = cursor.bytes.u8(); break;
      case 'S': cie.initial.signal_frame = true; break;
      case 'L': cursor.bytes.u8(); break;
      case 'P': {  // the personality routine: only its size matters
        const uint8_t encoding = cursor.bytes.u8();
        if (encoding != kPointerOmitted) read_pointer_value(cursor.bytes, encoding);
        break;
      }
      case 'B':  // AArch64: which key signs return addresses; without data
        break;
      default: return false;
    }
    if (!cursor.ok()) return false;
  }
}

bool read_cie(const Image& image, uint64_t avma, Cie& cie) {
  cie = {};
  Entry entry;
  if (read_entry(image, avma, entry) != CfiResult::kFound || entry.cie != 0) return false;
  ImageCursor& cursor = entry.body;
  const uint8_t version = cursor.bytes.u8();
  if (version != 1 && version != 3) return false;
  ByteCursor letters = cursor.bytes;
  while (cursor.bytes.u8() != 0) {
  }
  cie.alignment.code = cursor.bytes.uleb();
  cie.alignment.data = cursor.bytes.sleb();
  const uint64_t return_address = version == 1 ? cursor.bytes.u8() : cursor.bytes.uleb();
  return cursor.ok() && return_address == kReturnColumn &&
         read_augmentation(cursor, letters, cie) &&
         CfiProgram(image, cie.alignment).run(cursor, 0, UINT64_MAX, cie.initial);
}

// Moves the FDE's body on to its program. `cie` is the one at `entry.cie`.
bool read_fde(Entry& entry, const Cie& cie, Code& code) {
  ImageCursor& cursor = entry.body;
  code.start = read_pointer(cursor, cie.alignment.pointer_encoding, 0);
  code.size = read_pointer_value(cursor.bytes, cie.alignment.pointer_encoding);
  if (cie.has_augmentation_data) cursor.bytes.skip(cursor.bytes.uleb());
  return cursor.ok();
}

// The parts of find_row are not inlined, so that one is not on the stack while another one runs.

// The AVMA of the CIE that the FDE at this AVMA has; 0 when it is damaged.
[[gnu::noinline]] uint64_t cie_of(const Image& image, uint64_t fde) {
  Entry entry;
  return read_entry(image, fde, entry) == CfiResult::kFound ? entry.cie : 0;
}

// The CIE of the FDE at this AVMA: see find_row.
[[gnu::noinline]] bool find_cie(const Image& image, uint64_t fde, RecentCies& cies,
                                uint64_t generation, Cie& cie) {
  const uint64_t avma = cie_of(image, fde);
  if (avma == 0) return false;
  if (cies.find(avma, generation, cie)) return true;
  if (!read_cie(image, avma, cie)) return false;
  cies.insert(avma, generation, cie);
  return true;
}

[[gnu::noinline]] CfiResult run_fde(const Image& image, uint64_t fde, const Cie& cie, uint64_t pc,
                                    CfiRow& row) {
  Entry entry;
  Code code;
  if (read_entry(image, fde, entry) != CfiResult::kFound || !read_fde(entry, cie, code)) {
    return CfiResult::kDamaged;
  }
  if (!code.contains(pc)) return CfiResult::kNotCovered;
  row = cie.initial;
  CfiProgram program(image, cie.alignment);
  program.set_initial(cie.initial);
  if (!program.run(entry.body, code.start, pc, row)) return CfiResult::kDamaged;
  return row.cfa_kind == CfiRow::kCfaUnknown ? CfiResult::kDamaged : CfiResult::kFound;
}

// The entries of the table that every linker writes: both relative to the start of the header.
struct TableEntry {
  int32_t start;
  int32_t fde;
};

CfiResult search_table(const Module& module, std::span<const uint8_t> table, uint64_t pc,
                       uint64_t& fde) {
  const auto entry = [&](size_t index) {
    TableEntry result;
    std::memcpy(&result, table.data() + index * sizeof(TableEntry), sizeof(TableEntry));
    return result;
  };
  const int64_t wanted = static_cast<int64_t>(pc - module.eh_frame_hdr);
  size_t first = 0;  // entry(first).start <= wanted, once such an entry is known
  size_t count = table.size() / sizeof(TableEntry);
  if (count == 0 || entry(0).start > wanted) return CfiResult::kNotCovered;
  // A large table is cold when it is needed, so the number of consecutive cache misses counts. Each
  // step reads eight places at once, and their misses overlap.
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

CfiResult find_row(const Image& image, uint64_t fde, uint64_t pc, RecentCies& cies,
                   uint64_t generation, CfiRow& row) {
  Cie cie;
  if (!find_cie(image, fde, cies, generation, cie)) return CfiResult::kDamaged;
  return run_fde(image, fde, cie, pc, row);
}

CfiResult read_coverage(const Image& image, uint64_t fde, uint64_t& start, uint64_t& end) {
  Entry entry;
  Cie cie;
  Code code;
  if (read_entry(image, fde, entry) != CfiResult::kFound || entry.cie == 0 ||
      !read_cie(image, entry.cie, cie) || !read_fde(entry, cie, code)) {
    return CfiResult::kDamaged;
  }
  start = code.start;
  end = code.start + code.size;
  return CfiResult::kFound;
}

CfiResult scan_for_fde(const Image& image, uint64_t eh_frame, uint64_t pc, uint64_t& fde) {
  uint64_t cie_avma = 0;
  Cie cie;
  uint64_t avma = eh_frame;
  for (unsigned count = 0; count < kMaxScan; ++count) {
    Entry entry;
    const CfiResult result = read_entry(image, avma, entry);
    if (result != CfiResult::kFound) return result;
    if (entry.cie != 0) {
      if (entry.cie != cie_avma && !read_cie(image, entry.cie, cie)) return CfiResult::kDamaged;
      cie_avma = entry.cie;
      Code code;
      if (!read_fde(entry, cie, code)) return CfiResult::kDamaged;
      if (code.contains(pc)) {
        fde = avma;
        return CfiResult::kFound;
      }
    }
    avma = entry.end;
  }
  return CfiResult::kNotCovered;
}

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
    return search_table(module, cursor.bytes.take(count * sizeof(TableEntry)), pc, fde);
  }
  return scan_for_fde(module.image, eh_frame, pc, fde);
}

}  // namespace sampan::unwind
