// One row of the table that call frame information stands for: how to find, for one pc, the
// registers of the caller (DWARF 5, 6.4.1). The CFA (canonical frame address) is the stack pointer
// as it was before the call.
//
// Freestanding: linked into the target.
#pragma once

#include <cstdint>

#include "unwind/registers.h"

namespace sampan::unwind {

struct RegisterRule {
  enum Kind : uint8_t {
    kSame,             // caller's = ours; also for registers that are not mentioned
    kUndefined,        // not restorable; of the return address: there is no caller
    kOffset,           // caller's = *(CFA + value)
    kValueOffset,      // caller's = CFA + value
    kRegister,         // caller's = our register number `value`
    kExpression,       // caller's = *(expression with CFA pushed)
    kValueExpression,  // caller's = expression with CFA pushed
  };
  // A signed number of bytes, a register number, or, as unsigned, where in the image the
  // expression is: its length as ULEB128, then its operations.
  int32_t value;
  Kind kind;
};

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
  // Augmentation 'S': the frame's caller was interrupted, it did not make a call.
  bool signal_frame;
};

}  // namespace sampan::unwind
