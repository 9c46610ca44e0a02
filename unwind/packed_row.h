// The rows of nearly all code, in 64 bits. Each kind is an equation from a frame's (pc, sp, fp and one
// other register) to its caller's; frame.h of the processor's folder has them:
//
//   kRoot       there is no caller: the return address is undefined
//   kFromSp     CFA = sp + 8 c
//   kFromFp     CFA = fp + 8 c         and for all three:   fp = *(CFA - 8 f), other = *(CFA - 8 o)
//   kFromOther  CFA = other + 8 c
//
// where f = 0 (o = 0) means that the register is not saved: the caller's is the frame's. The same holds
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
  enum Kind : uint8_t { kNone, kUncovered, kNoReturn, kRoot, kFromSp, kFromFp, kFromOther };

  constexpr PackedRow() = default;
  constexpr explicit PackedRow(uint64_t bits) : bits_(bits) {}
  constexpr PackedRow(Kind kind, uint64_t c, uint64_t f, uint64_t o)
      : bits_(kind | c << kCfaShift | f << kFpShift | o << kOtherShift) {}

  // kNone when the numbers do not fit.
  static constexpr PackedRow pack(Kind kind, uint64_t c, uint64_t f, uint64_t o) {
    return c <= kMaxCfa && f <= kMaxSlot && o <= kMaxSlot ? PackedRow(kind, c, f, o) : PackedRow();
  }
  // Where a rule has saved a register, in units of eight bytes below the CFA; 0: it is not saved. False
  // when the rule is neither.
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

  constexpr uint64_t bits() const { return bits_; }
  constexpr Kind kind() const { return static_cast<Kind>(bits_ & 7); }
  constexpr bool is_row() const { return kind() >= kRoot; }
  // In bytes.
  constexpr uint64_t cfa_offset() const { return ((bits_ >> kCfaShift) & kMaxCfa) * 8; }
  // How far below the CFA the slot is, in bytes; 0: not saved.
  constexpr uint64_t fp_offset() const { return ((bits_ >> kFpShift) & kMaxSlot) * 8; }
  constexpr uint64_t other_offset() const { return (bits_ >> kOtherShift) * 8; }

 private:
  static constexpr unsigned kCfaShift = 3, kFpShift = 24, kOtherShift = 44;
  static constexpr uint64_t kMaxCfa = (1 << 21) - 1;  // frames of 16 MB
  static constexpr uint64_t kMaxSlot = (1 << 20) - 1;

  uint64_t bits_ = 0;
};
static_assert(sizeof(PackedRow) == 8);

}  // namespace sampan::unwind
