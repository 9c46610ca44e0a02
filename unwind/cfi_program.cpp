#include "unwind/cfi_program.h"

#include "unwind/pointer_encoding.h"

namespace sampan::unwind {
namespace {

// DW_CFA_* (DWARF 5, 7.24; the last two are GNU's, in the LSB; those before them are AArch64's, in DWARF for
// the Arm 64-bit Architecture, 4.4).
enum Opcode : uint8_t {
  kAdvanceLoc = 0x40,  // the operand of these three is in the low six bits
  kOffset = 0x80,
  kRestore = 0xc0,
  kNop = 0x00,
  kSetLoc = 0x01,
  kAdvanceLoc1 = 0x02,
  kAdvanceLoc2 = 0x03,
  kAdvanceLoc4 = 0x04,
  kOffsetExtended = 0x05,
  kRestoreExtended = 0x06,
  kUndefined = 0x07,
  kSameValue = 0x08,
  kRegister = 0x09,
  kRememberState = 0x0a,
  kRestoreState = 0x0b,
  kDefCfa = 0x0c,
  kDefCfaRegister = 0x0d,
  kDefCfaOffset = 0x0e,
  kDefCfaExpression = 0x0f,
  kExpression = 0x10,
  kOffsetExtendedSf = 0x11,
  kDefCfaSf = 0x12,
  kDefCfaOffsetSf = 0x13,
  kValOffset = 0x14,
  kValOffsetSf = 0x15,
  kValExpression = 0x16,
  kNegateRaStateWithPc = 0x2c,
  kNegateRaState = 0x2d,
  kGnuArgsSize = 0x2e,
  kGnuNegativeOffsetExtended = 0x2f,
};

}  // namespace

// Offsets come out in bytes and locations as AVMAs or deltas in bytes, so that `execute` has few
// cases: the variants of an instruction become the plain one.
bool CfiProgram::decode(ImageCursor& program, Instruction& instruction) {
  if (budget_ == 0) return false;
  --budget_;
  ByteCursor& bytes = program.bytes;
  // Products of damaged values may wrap; `fits` checks the result.
  const auto factored = [&](uint64_t value) {
    return static_cast<int64_t>(value * static_cast<uint64_t>(alignment_.data));
  };
  const auto expression = [&] {
    instruction.offset = static_cast<int64_t>(program.avma() - image_.start);
    bytes.skip(bytes.uleb());
  };

  const uint8_t byte = bytes.u8();
  if ((byte & 0xc0) != 0) {
    instruction.opcode = byte & 0xc0;
    instruction.number = byte & 0x3f;
    if (instruction.opcode == kAdvanceLoc) instruction.number *= alignment_.code;
    if (instruction.opcode == kOffset) instruction.offset = factored(bytes.uleb());
    return bytes.ok();
  }
  instruction.opcode = byte;
  switch (byte) {
    case kNop:
    case kRememberState:
    case kRestoreState: break;
    case kSetLoc: instruction.number = read_pointer(program, alignment_.pointer_encoding, 0); break;
    case kAdvanceLoc1: instruction = {kAdvanceLoc, bytes.u8() * alignment_.code, 0}; break;
    case kAdvanceLoc2: instruction = {kAdvanceLoc, bytes.u16() * alignment_.code, 0}; break;
    case kAdvanceLoc4: instruction = {kAdvanceLoc, bytes.u32() * alignment_.code, 0}; break;
    case kOffsetExtended:
      instruction = {kOffset, bytes.uleb(), 0};
      instruction.offset = factored(bytes.uleb());
      break;
    case kOffsetExtendedSf:
      instruction = {kOffset, bytes.uleb(), 0};
      instruction.offset = factored(static_cast<uint64_t>(bytes.sleb()));
      break;
    case kGnuNegativeOffsetExtended:
      instruction = {kOffset, bytes.uleb(), 0};
      instruction.offset = factored(0 - bytes.uleb());
      break;
    case kRestoreExtended: instruction = {kRestore, bytes.uleb(), 0}; break;
    case kUndefined:
    case kSameValue:
    case kDefCfaRegister: instruction.number = bytes.uleb(); break;
    case kRegister:
      instruction.number = bytes.uleb();
      instruction.offset = static_cast<int64_t>(bytes.uleb());
      break;
    case kDefCfa:
      instruction.number = bytes.uleb();
      instruction.offset = static_cast<int64_t>(bytes.uleb());
      break;
    case kDefCfaSf:
      instruction = {kDefCfa, bytes.uleb(), 0};
      instruction.offset = factored(static_cast<uint64_t>(bytes.sleb()));
      break;
    case kDefCfaOffset: instruction.offset = static_cast<int64_t>(bytes.uleb()); break;
    case kDefCfaOffsetSf:
      instruction = {kDefCfaOffset, 0, factored(static_cast<uint64_t>(bytes.sleb()))};
      break;
    case kDefCfaExpression: expression(); break;
    case kExpression:
    case kValExpression:
      instruction.number = bytes.uleb();
      expression();
      break;
    case kValOffset:
      instruction.number = bytes.uleb();
      instruction.offset = factored(bytes.uleb());
      break;
    case kValOffsetSf:
      instruction = {kValOffset, bytes.uleb(), 0};
      instruction.offset = factored(static_cast<uint64_t>(bytes.sleb()));
      break;
    // How a return address is signed does not matter: the signature is dropped.
    case kNegateRaStateWithPc:
    case kNegateRaState: instruction.opcode = kNop; break;
    case kGnuArgsSize:
      bytes.uleb();
      instruction.opcode = kNop;
      break;
    default: return false;
  }
  return bytes.ok();
}

// Rules for registers that are not followed (xmm, segment and so on) are no error.
bool CfiProgram::set(const Instruction& instruction, RegisterRule::Kind kind, CfiRow& row) {
  if (!RegisterRule::fits(instruction.offset)) return false;
  if (instruction.number < kRegisterCount) {
    row.registers[instruction.number] = {kind, static_cast<int32_t>(instruction.offset)};
  }
  return true;
}

bool CfiProgram::execute(const Instruction& instruction, CfiRow& row) const {
  switch (instruction.opcode) {
    case kNop: return true;
    case kOffset: return set(instruction, RegisterRule::kOffset, row);
    case kRestore:
      if (initial_ == nullptr) return false;
      if (instruction.number < kRegisterCount) {
        row.registers[instruction.number] = initial_->registers[instruction.number];
      }
      return true;
    case kUndefined: return set(instruction, RegisterRule::kUndefined, row);
    case kSameValue: return set(instruction, RegisterRule::kSame, row);
    case kRegister: return set(instruction, RegisterRule::kRegister, row);
    case kValOffset: return set(instruction, RegisterRule::kValueOffset, row);
    case kExpression: return set(instruction, RegisterRule::kExpression, row);
    case kValExpression: return set(instruction, RegisterRule::kValueExpression, row);
    case kDefCfa:
      if (instruction.number >= kRegisterCount || !RegisterRule::fits(instruction.offset))
        return false;
      row.cfa_kind = CfiRow::kCfaRegister;
      row.cfa_register = static_cast<uint8_t>(instruction.number);
      row.cfa_value = static_cast<int32_t>(instruction.offset);
      return true;
    case kDefCfaRegister:
      if (row.cfa_kind != CfiRow::kCfaRegister || instruction.number >= kRegisterCount) {
        return false;
      }
      row.cfa_register = static_cast<uint8_t>(instruction.number);
      return true;
    case kDefCfaOffset:
      if (row.cfa_kind != CfiRow::kCfaRegister || !RegisterRule::fits(instruction.offset))
        return false;
      row.cfa_value = static_cast<int32_t>(instruction.offset);
      return true;
    case kDefCfaExpression:
      if (!RegisterRule::fits(instruction.offset)) return false;
      row.cfa_kind = CfiRow::kCfaExpression;
      row.cfa_value = static_cast<int32_t>(instruction.offset);
      return true;
    default: return false;
  }
}

// DW_CFA_remember_state needs no memory. Either its DW_CFA_restore_state comes at or before `pc`, and
// nothing between the two has an effect: then this moves past the restoring instruction. Or it comes
// later and is never executed: then this changes nothing.
bool CfiProgram::skip_forgotten(ImageCursor& program, Instruction& instruction, uint64_t& location,
                                uint64_t pc) {
  const ByteCursor remembered = program.bytes;
  const uint64_t remembered_location = location;
  for (unsigned depth = 1; location <= pc && !program.bytes.at_end();) {
    instruction = {};
    if (!decode(program, instruction)) return false;
    switch (instruction.opcode) {
      case kAdvanceLoc: location += instruction.number; break;
      case kSetLoc: location = instruction.number; break;
      case kRememberState: ++depth; break;
      case kRestoreState:
        if (--depth == 0) return true;
        break;
      default: break;
    }
  }
  program.bytes = remembered;
  location = remembered_location;
  return true;
}

bool CfiProgram::run(ImageCursor& program, uint64_t location, uint64_t pc, CfiRow& row) {
  if (!program.ok()) return false;
  while (!program.bytes.at_end()) {
    Instruction instruction{};
    if (!decode(program, instruction)) return false;
    switch (instruction.opcode) {
      case kAdvanceLoc:
        location += instruction.number;
        if (location > pc) return true;
        break;
      case kSetLoc:
        location = instruction.number;
        if (location > pc) return true;
        break;
      case kRememberState:
        if (!skip_forgotten(program, instruction, location, pc)) return false;
        break;
      default:  // a restore_state here has no remember_state before it
        if (!execute(instruction, row)) return false;
        break;
    }
  }
  return true;
}

}  // namespace sampan::unwind
