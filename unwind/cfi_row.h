// One row of the table that call frame information describes: how to find the caller's registers
// for one pc (DWARF 5, 6.4.1). The CFA (canonical frame address) is the stack pointer
// as it was before the call.
//
// Freestanding: linked into the target.
#pragma once

#include <cstdint>

#include "unwind/registers.h"

namespace sampan::unwind {

// 32 bits, because rows live on the stack of the interrupted thread.
class RegisterRule {
 public:
  enum Kind : uint8_t {
    kSame,             // caller's = ours; also for registers that are not mentioned
    kUndefined,        // not restorable; of the return address: there is no caller
    kOffset,           // caller's = *(CFA + value)
    kValueOffset,      // caller's = CFA + value
    kRegister,         // caller's = our register number `value`
    kExpression,       // caller's = *(expression with CFA pushed)
    kValueExpression,  // caller's = expression with CFA pushed
  };

  constexpr RegisterRule() = default;
  constexpr RegisterRule(Kind kind, int32_t value) : bits_((value << kKindBits) | kind) {}
  static constexpr bool fits(int64_t value) { return value >= -kLimit && value < kLimit; }

  constexpr Kind kind() const { return static_cast<Kind>(bits_ & ((1 << kKindBits) - 1)); }
  // A number of bytes, a register number, or where in the image the expression is: its length as
  // ULEB128, then its operations.
  constexpr int32_t value() const { return bits_ >> kKindBits; }

 private:
  static constexpr unsigned kKindBits = 3;
  static constexpr int64_t kLimit = int64_t{1} << (31 - kKindBits);

  int32_t bits_ = 0;
};
static_assert(sizeof(RegisterRule) == 4);

struct CfiRow {
  enum CfaKind : uint8_t {
    kCfaUnknown,
    kCfaRegister,    // CFA = register cfa_register + cfa_value
    kCfaExpression,  // CFA = expression at cfa_value in the image
  };
  RegisterRule registers[kRegisterCount];
  int32_t cfa_value;
  uint8_t cfa_register;
  CfaKind cfa_kind;
  // Augmentation 'S': the frame's caller was interrupted by a signal and did not make a call.
  bool signal_frame;
};

}  // namespace sampan::unwind
