#include "unwind/aarch64/instruction.h"

#include "unwind/registers.h"

namespace sampan::unwind {
namespace {

constexpr bool matches(uint32_t code, uint32_t mask, uint32_t value) {
  return (code & mask) == value;
}
constexpr uint32_t field(uint32_t code, unsigned low, unsigned bits) {
  return code >> low & ((uint32_t{1} << bits) - 1);
}
constexpr int64_t signed_field(uint32_t code, unsigned low, unsigned bits) {
  return static_cast<int64_t>(uint64_t{code} << (64 - low - bits)) >> (64 - bits);
}

// Register 31 is the stack pointer in some places, and none in others.
constexpr uint8_t or_sp(uint32_t number) {
  return static_cast<uint8_t>(number == 31 ? uint32_t{kSp} : number);
}
constexpr uint8_t or_none(uint32_t number) {
  return static_cast<uint8_t>(number == 31 ? uint32_t{Instruction::kNoRegister} : number);
}

// C4.1.66: branches, exception generating and system instructions.
Instruction decode_branch(uint32_t code) {
  Instruction result;
  const auto jump = [&](Operation operation, unsigned low, unsigned bits) {
    result.operation = operation;
    result.displacement = signed_field(code, low, bits) * Instruction::length;
  };
  if (matches(code, 0xfc00'0000, 0x1400'0000)) jump(Operation::kJump, 0, 26);        // b
  if (matches(code, 0xfc00'0000, 0x9400'0000)) result.operation = Operation::kCall;  // bl
  if (matches(code, 0xff00'0000, 0x5400'0000)) jump(Operation::kBranch, 5, 19);  // b.cond, bc.cond
  if (matches(code, 0x7e00'0000, 0x3400'0000)) jump(Operation::kBranch, 5, 19);  // cbz, cbnz
  if (matches(code, 0x7e00'0000, 0x3600'0000)) jump(Operation::kBranch, 5, 14);  // tbz, tbnz
  if (matches(code, 0xfe00'0000, 0xd600'0000)) {  // by a register, perhaps authenticated
    const uint8_t target = or_none(field(code, 5, 5));
    switch (field(code, 21, 3)) {
      case 0:
        result.operation =
            target == 16 || target == 17 ? Operation::kTailCall : Operation::kIndirectJump;
        break;
      case 1: result.operation = Operation::kCall; break;
      case 2:
        result.operation = Operation::kReturn;
        result.base = target == Instruction::kNoRegister ? uint8_t{kLr} : target;  // retaa: x30
        break;
      default: result.operation = Operation::kStop;  // eret
    }
  }
  const bool is_trap = matches(code, 0xffe0'001f, 0xd420'0000) ||  // brk
                       matches(code, 0xffe0'001f, 0xd440'0000);    // hlt
  if (is_trap) result.operation = Operation::kStop;
  return result;
}

// C4.1.65 and C4.1.67: data processing.
Instruction decode_calculation(uint32_t code) {
  Instruction result;
  const bool is_add = matches(code, 0xff80'0000, 0x9100'0000);
  if (is_add || matches(code, 0xff80'0000, 0xd100'0000)) {  // add, sub of an immediate
    const int64_t value = int64_t{field(code, 10, 12)} << (field(code, 22, 1) != 0 ? 12 : 0);
    result.operation = Operation::kAddress;
    result.to = or_sp(field(code, 0, 5));
    result.base = or_sp(field(code, 5, 5));
    result.displacement = is_add ? value : -value;
    return result;
  }
  if (matches(code, 0xffe0'ffe0, 0xaa00'03e0)) {  // orr xd, xzr, xm: mov
    const uint8_t from = or_none(field(code, 16, 5));
    if (from != Instruction::kNoRegister) {
      result.operation = Operation::kAddress;
      result.base = from;
    }
    result.to = or_none(field(code, 0, 5));
    return result;
  }
  // Those of an extended register and of logical immediates may set the stack pointer; the ones that set
  // flags may not.
  const bool may_set_sp = matches(code, 0x7fe0'0000, 0x0b20'0000) ||  // add
                          matches(code, 0x7fe0'0000, 0x4b20'0000) ||  // sub
                          (matches(code, 0x1f80'0000, 0x1200'0000) && field(code, 29, 2) != 3);
  result.to = may_set_sp ? or_sp(field(code, 0, 5)) : or_none(field(code, 0, 5));
  return result;
}

// C4.1.69: loads and stores.
Instruction decode_memory(uint32_t code) {
  Instruction result;
  const bool is_vector = field(code, 26, 1) != 0;
  const uint8_t base = or_sp(field(code, 5, 5));
  if (matches(code, 0x3a00'0000, 0x2800'0000)) {  // a pair
    const uint32_t size = field(code, 30, 2);
    const bool is_load = field(code, 22, 1) != 0;
    const int64_t scale = is_vector ? int64_t{4} << size : size == 2 ? 8 : 4;
    const int64_t distance = signed_field(code, 15, 7) * scale;
    const uint32_t mode = field(code, 23, 2);  // 1: post-indexed, 3: pre-indexed, else an offset
    result.base = base;
    result.displacement = mode == 1 || mode == 3 ? 0 : distance;
    result.after = mode == 1 ? distance : 0;
    result.before = mode == 3 ? distance : 0;
    if (is_vector) return result;
    if (size == 2) result.operation = is_load ? Operation::kLoad : Operation::kStore;
    if (size == 2 || is_load) {
      result.to = or_none(field(code, 0, 5));
      result.second = or_none(field(code, 10, 5));
    }
    return result;
  }
  if (matches(code, 0x3a00'0000, 0x3800'0000)) {  // one register
    const uint32_t size = field(code, 30, 2), opc = field(code, 22, 2);
    const bool has_scaled_offset = field(code, 24, 1) != 0;
    const bool has_offset = has_scaled_offset || field(code, 21, 1) == 0;
    const uint32_t mode = has_scaled_offset ? 0 : field(code, 10, 2);  // as above; 0: an offset
    const int64_t distance =
        has_scaled_offset ? int64_t{field(code, 10, 12)} * 8 : signed_field(code, 12, 9);
    result.base = base;
    if (has_offset) {
      result.displacement = mode == 1 || mode == 3 ? 0 : distance;
      result.after = mode == 1 ? distance : 0;
      result.before = mode == 3 ? distance : 0;
    }
    const bool is_word = !is_vector && size == 3 && opc < 2 && has_offset;
    if (is_word) result.operation = opc == 1 ? Operation::kLoad : Operation::kStore;
    const bool is_load = !is_vector && opc != 0 && !(size == 3 && opc == 2);  // 2: prefetch
    if (is_word || is_load) result.to = or_none(field(code, 0, 5));
    return result;
  }
  // Structures of vectors, which may add to their base by a register or by their size.
  if (matches(code, 0xbe80'0000, 0x0c80'0000)) {
    result.to = base;
    return result;
  }
  // Exclusive, ordered, by a literal, tagged: they may load a register, and do not touch the stack.
  if (!is_vector) result.to = or_none(field(code, 0, 5));
  return result;
}

}  // namespace

Instruction decode(uint32_t code) {
  switch (field(code, 25, 4)) {
    case 0b0000: {  // reserved: udf
      Instruction result;
      result.operation = field(code, 16, 16) == 0 ? Operation::kStop : Operation::kInvalid;
      return result;
    }
    case 0b1010:
    case 0b1011: return decode_branch(code);
    case 0b1000:
    case 0b1001:
    case 0b0101:
    case 0b1101: return decode_calculation(code);
    case 0b0100:
    case 0b0110:
    case 0b1100:
    case 0b1110: return decode_memory(code);
    default: return {};  // vectors, SVE
  }
}

}  // namespace sampan::unwind
