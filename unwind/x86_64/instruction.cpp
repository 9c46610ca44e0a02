#include "unwind/x86_64/instruction.h"

#include <cstring>

#include "unwind/registers.h"

namespace sampan::unwind {
namespace {

enum class Map : uint8_t { kOneByte, k0f, k0f38, k0f3a };

// A set of opcodes of one map, made of ranges.
class Opcodes {
 public:
  struct Range {
    uint8_t first, last;
  };
  template <size_t N>
  consteval Opcodes(const Range (&ranges)[N]) {
    for (const Range range : ranges) {
      for (unsigned opcode = range.first; opcode <= range.last; ++opcode) {
        bits_[opcode / 64] |= uint64_t{1} << opcode % 64;
      }
    }
  }
  constexpr bool has(uint8_t opcode) const { return (bits_[opcode / 64] >> opcode % 64 & 1) != 0; }

 private:
  uint64_t bits_[4] = {};
};

// With a ModRM byte. The ALU operations, 00 to 3f, are told apart by their low bits.
constexpr Opcodes kModrm({{0x62, 0x63},
                          {0x69, 0x69},
                          {0x6b, 0x6b},
                          {0x80, 0x8f},
                          {0xc0, 0xc1},
                          {0xc4, 0xc7},
                          {0xd0, 0xd3},
                          {0xd8, 0xdf},
                          {0xf6, 0xf7},
                          {0xfe, 0xff}});
constexpr Opcodes kImmediate8({{0x6a, 0x6b},
                               {0x70, 0x7f},
                               {0x80, 0x80},
                               {0x83, 0x83},
                               {0xa8, 0xa8},
                               {0xb0, 0xb7},
                               {0xc0, 0xc1},
                               {0xc6, 0xc6},
                               {0xcd, 0xcd},
                               {0xe0, 0xe7},
                               {0xeb, 0xeb}});
// It has 4 bytes, or 2 with an operand size prefix.
constexpr Opcodes kImmediate(
    {{0x68, 0x69}, {0x81, 0x81}, {0xa9, 0xa9}, {0xb8, 0xbf}, {0xc7, 0xc7}});
constexpr Opcodes kInvalid({{0x06, 0x07},
                            {0x0e, 0x0e},
                            {0x16, 0x17},
                            {0x1e, 0x1f},
                            {0x27, 0x27},
                            {0x2f, 0x2f},
                            {0x37, 0x37},
                            {0x3f, 0x3f},
                            {0x60, 0x61},
                            {0x82, 0x82},
                            {0x9a, 0x9a},
                            {0xce, 0xce},
                            {0xd4, 0xd6},
                            {0xea, 0xea}});
// In the map behind 0f: without ModRM, and with an immediate byte.
constexpr Opcodes kNoModrm0f({{0x05, 0x09},
                              {0x0b, 0x0b},
                              {0x0e, 0x0e},
                              {0x30, 0x37},
                              {0x77, 0x77},
                              {0x80, 0x8f},
                              {0xa0, 0xa2},
                              {0xa8, 0xaa},
                              {0xc8, 0xcf}});
constexpr Opcodes kImmediate0f({{0x0f, 0x0f},
                                {0x70, 0x73},
                                {0xa4, 0xa4},
                                {0xac, 0xac},
                                {0xba, 0xba},
                                {0xc2, 0xc2},
                                {0xc4, 0xc6}});
constexpr Opcodes kInvalid0f({{0x04, 0x04},
                              {0x0a, 0x0a},
                              {0x0c, 0x0c},
                              {0x24, 0x27},
                              {0x36, 0x36},
                              {0x39, 0x39},
                              {0x3b, 0x3f},
                              {0x7a, 0x7b},
                              {0xa6, 0xa7}});

// DWARF's number of a register, by the number in encodings.
constexpr uint8_t dwarf_number(unsigned encoded) {
  constexpr uint8_t kNumbers[8] = {kRax, kRcx, kRdx, kRbx, kRsp, kRbp, kRsi, kRdi};
  return encoded < 8 ? kNumbers[encoded] : static_cast<uint8_t>(encoded);
}

class Decoder {
 public:
  explicit Decoder(std::span<const uint8_t, 16> code) : code_(code) {}

  Instruction decode() {
    read_prefixes();
    if (!read_opcode()) return {};
    const uint8_t opcode = opcode_;
    const bool has_modrm = modrm_follows();
    if (has_modrm) read_modrm();
    const unsigned operands_at = at_;
    const unsigned size = immediate_size(has_modrm);
    immediate_ = signed_at(operands_at, size);
    at_ += size;
    if (at_ > kLongestInstruction) return {};
    instruction_.operation = Operation::kOther;
    if (!vector_ && map_ == Map::kOneByte) understand(opcode);
    if (!vector_ && map_ == Map::k0f) understand_0f(opcode);
    instruction_.length = static_cast<uint8_t>(at_);
    return instruction_;
  }

 private:
  uint8_t byte(unsigned at) const { return at < code_.size() ? code_[at] : 0; }
  uint8_t next() { return byte(at_++); }

  // A REX prefix counts only where it is the last.
  void read_prefixes() {
    for (; at_ < kLongestInstruction; ++at_) {
      const uint8_t prefix = byte(at_);
      switch (prefix) {
        case 0x66: operand_size_ = true; break;
        case 0x67: address_size_ = true; break;
        case 0x26:
        case 0x2e:
        case 0x36:
        case 0x3e:
        case 0x64:
        case 0x65:
        case 0xf0:
        case 0xf2:
        case 0xf3: break;
        default:
          if ((prefix & 0xf0) != 0x40) return;
          break;
      }
      rex_ = (prefix & 0xf0) == 0x40 ? prefix : 0;
    }
  }

  // False: there is none.
  bool read_opcode() {
    opcode_ = next();
    switch (opcode_) {
      case 0xc4: return read_vector(byte(at_) & 0x1f, 2);
      case 0xc5: return read_vector(1, 1);
      case 0x62: return read_vector(byte(at_) & 7, 3);
      case 0x0f: break;
      default: return !kInvalid.has(opcode_);
    }
    map_ = Map::k0f;
    opcode_ = next();
    if (opcode_ == 0x38 || opcode_ == 0x3a) {
      map_ = opcode_ == 0x38 ? Map::k0f38 : Map::k0f3a;
      opcode_ = next();
      return true;
    }
    return !kInvalid0f.has(opcode_);
  }

  // VEX and EVEX: `size` bytes with the map in the first, then the opcode. Maps 5 and 6 are those
  // of FP16.
  bool read_vector(unsigned map, unsigned size) {
    constexpr Map kMaps[] = {Map::kOneByte, Map::k0f,   Map::k0f38, Map::k0f3a,
                             Map::kOneByte, Map::k0f38, Map::k0f38};
    if (map == 0 || map == 4 || map >= std::size(kMaps)) return false;
    vector_ = true;
    map_ = kMaps[map];
    at_ += size;
    opcode_ = next();
    return true;
  }

  bool modrm_follows() const {
    switch (map_) {
      case Map::kOneByte: return opcode_ < 0x40 ? (opcode_ & 7) < 4 : kModrm.has(opcode_);
      case Map::k0f: return vector_ ? opcode_ != 0x77 : !kNoModrm0f.has(opcode_);
      case Map::k0f38:
      case Map::k0f3a: break;
    }
    return true;
  }

  void read_modrm() {
    const uint8_t modrm = next();
    mode_ = modrm >> 6;
    reg_ = (modrm >> 3 & 7) | (rex_ & 4) << 1;
    rm_ = (modrm & 7) | (rex_ & 1) << 3;
    if (mode_ == 3) return;
    bool has_base = true;
    unsigned base = rm_;
    if ((modrm & 7) == 4) {
      const uint8_t sib = next();
      const unsigned index = (sib >> 3 & 7) | (rex_ & 2) << 2;
      base = (sib & 7) | (rex_ & 1) << 3;
      has_base = index == 4;
      if (mode_ == 0 && (sib & 7) == 5) {
        has_base = false;
        displacement_size_ = 4;
      }
    } else if (mode_ == 0 && (modrm & 7) == 5) {
      from_rip_ = true;
      has_base = false;
      displacement_size_ = 4;
    }
    if (mode_ == 1) displacement_size_ = 1;
    if (mode_ == 2) displacement_size_ = 4;
    displacement_ = signed_at(at_, displacement_size_);
    at_ += displacement_size_;
    if (has_base && !address_size_) memory_base_ = dwarf_number(base);
  }

  unsigned immediate_size(bool has_modrm) const {
    const bool wide = (rex_ & 8) != 0;
    const unsigned full = operand_size_ && !wide ? 2 : 4;
    if (map_ == Map::k0f3a) return 1;
    if (map_ == Map::k0f38) return 0;
    if (map_ == Map::k0f) {
      if (!vector_ && opcode_ >= 0x80 && opcode_ <= 0x8f) return 4;
      // a4, ac, ba and 0f are not vector instructions
      return kImmediate0f.has(opcode_) &&
                     (!vector_ || (opcode_ >= 0x70 && opcode_ <= 0x73) || opcode_ >= 0xc2)
                 ? 1
                 : 0;
    }
    if (opcode_ < 0x40) return (opcode_ & 7) == 4 ? 1 : (opcode_ & 7) == 5 ? full : 0;
    if (opcode_ >= 0xb8 && opcode_ <= 0xbf && wide) return 8;
    if (opcode_ >= 0xa0 && opcode_ <= 0xa3) return address_size_ ? 4 : 8;
    if (opcode_ == 0xe8 || opcode_ == 0xe9) return 4;
    if (opcode_ == 0xc2 || opcode_ == 0xca) return 2;
    if (opcode_ == 0xc8) return 3;
    if (has_modrm && (opcode_ == 0xf6 || opcode_ == 0xf7)) {  // test alone has one
      return (reg_ & 7) >= 2 ? 0 : opcode_ == 0xf6 ? 1 : full;
    }
    return kImmediate8.has(opcode_) ? 1 : kImmediate.has(opcode_) ? full : 0;
  }

  int64_t signed_at(unsigned at, unsigned size) const {
    int64_t value = 0;
    for (unsigned i = 0; i < size; ++i) {
      value |= static_cast<int64_t>(uint64_t{byte(at + i)} << 8 * i);
    }
    const unsigned shift = 64 - 8 * size;
    return size == 0 || size == 8
               ? value
               : static_cast<int64_t>(static_cast<uint64_t>(value) << shift) >> shift;
  }

  void set(Operation operation, uint8_t to = Instruction::kNoRegister,
           uint8_t base = Instruction::kNoRegister, int64_t displacement = 0) {
    instruction_.operation = operation;
    instruction_.to = to;
    instruction_.base = base;
    instruction_.displacement = displacement;
  }

  bool is_wide() const { return (rex_ & 8) != 0; }
  uint8_t reg() const { return dwarf_number(reg_); }
  uint8_t rm() const { return dwarf_number(rm_); }

  void understand(uint8_t opcode) {
    const bool of_registers = mode_ == 3;
    const unsigned low = (opcode & 7) | (rex_ & 1) << 3;
    if ((opcode & 0xf8) == 0x50)
      return set(Operation::kPush, Instruction::kNoRegister, dwarf_number(low));
    if ((opcode & 0xf8) == 0x58) return set(Operation::kPop, dwarf_number(low));
    if ((opcode & 0xf0) == 0x70 || (opcode & 0xfc) == 0xe0) return branch(Operation::kBranch);
    switch (opcode) {
      case 0x68:
      case 0x6a:
      case 0x9c: set(Operation::kPush); return;
      case 0x9d: set(Operation::kPop); return;
      case 0xe9:
      case 0xeb: branch(Operation::kJump); return;
      case 0xe8: set(Operation::kCall); return;
      case 0xc2:
      case 0xc3:
        set(Operation::kReturn, Instruction::kNoRegister, Instruction::kNoRegister,
            immediate_ & 0xffff);
        return;
      case 0xc9: set(Operation::kLeave); return;
      case 0xc8: set(Operation::kSetsSp); return;  // enter
      case 0xcc:
      case 0xf4:
      case 0xca:
      case 0xcb:
      case 0xcf: set(Operation::kStop); return;
      case 0x8f: set((reg_ & 7) == 0 ? Operation::kPop : Operation::kInvalid); return;  // else XOP
      case 0xff:
        switch (reg_ & 7) {
          case 2:
          case 3: set(Operation::kCall); break;
          case 4: set(from_rip_ ? Operation::kTailCall : Operation::kIndirectJump); break;
          case 5: set(Operation::kStop); break;
          case 6: set(Operation::kPush); break;
          default: break;
        }
        return;
      case 0x81:
      case 0x83:
        if (!of_registers || rm() != kRsp) return;
        switch (reg_ & 7) {
          case 0: set(Operation::kAddress, kRsp, kRsp, immediate_); break;
          case 5: set(Operation::kAddress, kRsp, kRsp, -immediate_); break;
          case 4: set(Operation::kAlign, kRsp, kRsp, immediate_); break;
          case 7: break;  // compares
          default: set(Operation::kSetsSp); break;
        }
        return;
      case 0x89:
      case 0x8b: understand_move(opcode == 0x8b, of_registers); return;
      case 0x8d:
        if (is_wide() && memory_base_ != Instruction::kNoRegister) {
          set(Operation::kAddress, reg(), memory_base_, displacement_);
        } else if (reg() == kRsp) {
          set(Operation::kSetsSp);
        }
        return;
      case 0x87:
        if (of_registers && (rm() == kRsp || reg() == kRsp)) set(Operation::kSetsSp);
        return;
      case 0x01:
      case 0x09:
      case 0x11:
      case 0x19:
      case 0x21:
      case 0x29:
      case 0x31:
        if (of_registers && rm() == kRsp) set(Operation::kSetsSp);
        return;
      case 0x03:
      case 0x0b:
      case 0x13:
      case 0x1b:
      case 0x23:
      case 0x2b:
      case 0x33:
        if (reg() == kRsp) set(Operation::kSetsSp);
        return;
      default: return;
    }
  }

  void understand_move(bool to_reg, bool of_registers) {
    if (of_registers) {
      const uint8_t to = to_reg ? reg() : rm();
      const uint8_t from = to_reg ? rm() : reg();
      if (is_wide()) set(Operation::kMove, to, from);
      return;
    }
    if (!to_reg || !is_wide()) return;
    if (memory_base_ != Instruction::kNoRegister) {
      set(Operation::kLoad, reg(), memory_base_, displacement_);
    } else if (reg() == kRsp) {
      set(Operation::kSetsSp);
    }
  }

  void understand_0f(uint8_t opcode) {
    if ((opcode & 0xf0) == 0x80) return branch(Operation::kBranch);
    if ((opcode & 0xf0) == 0x40 && reg() == kRsp) return set(Operation::kSetsSp);
    switch (opcode) {
      case 0x0b:
      case 0xb9:
      case 0xff: set(Operation::kStop); return;
      case 0xa0:
      case 0xa8: set(Operation::kPush); return;
      case 0xa1:
      case 0xa9: set(Operation::kPop); return;
      default: return;
    }
  }

  void branch(Operation operation) {
    set(operation, Instruction::kNoRegister, Instruction::kNoRegister, immediate_);
  }

  std::span<const uint8_t, 16> code_;
  unsigned at_ = 0;
  Map map_ = Map::kOneByte;
  uint8_t opcode_ = 0;
  uint8_t rex_ = 0;
  bool operand_size_ = false;
  bool address_size_ = false;
  bool vector_ = false;
  bool from_rip_ = false;
  unsigned mode_ = 0;
  unsigned reg_ = 0;
  unsigned rm_ = 0;
  unsigned displacement_size_ = 0;
  int64_t displacement_ = 0;
  int64_t immediate_ = 0;
  uint8_t memory_base_ = Instruction::kNoRegister;
  Instruction instruction_;
};

}  // namespace

Instruction decode(std::span<const uint8_t, 16> code) {
  return Decoder(code).decode();
}

}  // namespace sampan::unwind
