// The rows of nearly all code, in 64 bits. Each kind is an equation from a frame's (sp, bp, bx) to
// its caller's:
//
//   kRoot     there is no caller: the return address is undefined
//   kFromSp   CFA = sp + 8 c      and for all three:
//   kFromBp   CFA = bp + 8 c        pc = *(CFA - 8)      sp = CFA
//   kFromBx   CFA = bx + 8 c        bp = *(CFA - 8 p)    bx = *(CFA - 8 b)
//
// where p = 0 (b = 0) means that bp (bx) is not saved: the caller's is the frame's. The same holds
// when the slot is below sp: it is dead, because the function has already popped the register.
//
// What does not fit (an unusual CFA, realigned stacks, signal frames) takes the full row. Two kinds
// are no rows: kUncovered says that the module's table covers neither this pc nor the one after it,
// kNoReturn also that no return was found behind it.
//
// Freestanding: linked into the target.
#pragma once

#include <cstdint>

#include "unwind/cfi_row.h"

namespace sampan::unwind {

class PackedRow {
 public:
  enum Kind : uint8_t { kNone, kUncovered, kNoReturn, kRoot, kFromSp, kFromBp, kFromBx };

  constexpr PackedRow() = default;
  constexpr explicit PackedRow(uint64_t bits) : bits_(bits) {}
  constexpr PackedRow(Kind kind, uint64_t c, uint64_t p, uint64_t b)
      : bits_(kind | c << kCfaShift | p << kBpShift | b << kBxShift) {}

  // kNone when the row does not fit.
  static constexpr PackedRow pack(const CfiRow& row);
  static constexpr PackedRow pack(Kind kind, uint64_t c, uint64_t p, uint64_t b) {
    return c <= kMaxCfa && p <= kMaxSlot && b <= kMaxSlot ? PackedRow(kind, c, p, b) : PackedRow();
  }

  constexpr uint64_t bits() const { return bits_; }
  constexpr Kind kind() const { return static_cast<Kind>(bits_ & 7); }
  constexpr bool is_row() const { return kind() >= kRoot; }
  // In bytes.
  constexpr uint64_t cfa_offset() const { return ((bits_ >> kCfaShift) & kMaxCfa) * 8; }
  // How far below the CFA the slot is, in bytes; 0: not saved.
  constexpr uint64_t bp_offset() const { return ((bits_ >> kBpShift) & kMaxSlot) * 8; }
  constexpr uint64_t bx_offset() const { return (bits_ >> kBxShift) * 8; }

 private:
  static constexpr unsigned kCfaShift = 3, kBpShift = 24, kBxShift = 44;
  static constexpr uint64_t kMaxCfa = (1 << 21) - 1;  // frames of 16 MB
  static constexpr uint64_t kMaxSlot = (1 << 20) - 1;

  // In units of eight bytes below the CFA, 0 for not saved; false when the rule is neither.
  static constexpr bool pack_slot(RegisterRule rule, uint64_t& units) {
    if (rule.kind() == RegisterRule::kSame) {
      units = 0;
      return true;
    }
    if (rule.kind() != RegisterRule::kOffset || rule.value() >= 0 || rule.value() % 8 != 0)
      return false;
    units = static_cast<uint64_t>(-(rule.value() / 8));
    return units <= kMaxSlot;
  }

  uint64_t bits_ = 0;
};
static_assert(sizeof(PackedRow) == 8);

constexpr PackedRow PackedRow::pack(const CfiRow& row) {
  if (row.registers[kRip].kind() == RegisterRule::kUndefined) return {kRoot, 0, 0, 0};
  uint64_t pc = 0;
  uint64_t p = 0;
  uint64_t b = 0;
  if (row.signal_frame || row.cfa_kind != CfiRow::kCfaRegister || row.cfa_value < 0 ||
      row.cfa_value % 8 != 0 || static_cast<uint64_t>(row.cfa_value / 8) > kMaxCfa ||
      row.registers[kRsp].kind() != RegisterRule::kSame || !pack_slot(row.registers[kRip], pc) ||
      pc != 1 || !pack_slot(row.registers[kRbp], p) || !pack_slot(row.registers[kRbx], b)) {
    return {};
  }
  const uint64_t c = static_cast<uint64_t>(row.cfa_value / 8);
  switch (row.cfa_register) {
    case kRsp: return {kFromSp, c, p, b};
    case kRbp: return {kFromBp, c, p, b};
    case kRbx: return {kFromBx, c, p, b};
    default: return {};
  }
}

}  // namespace sampan::unwind
