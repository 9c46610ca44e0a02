// Writes .eh_frame and .eh_frame_hdr by hand, so that a test can read the result off the registers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "unwind/image.h"
#include "unwind/registers.h"

namespace sampan::unwind {

using Program = std::vector<uint8_t>;

// DW_CFA_* and DW_OP_* by the names of DWARF 5, 7.24 and 7.7.1.
constexpr uint8_t advance_loc(unsigned delta) {
  return static_cast<uint8_t>(0x40 | delta);
}
constexpr uint8_t offset(unsigned number) {
  return static_cast<uint8_t>(0x80 | number);
}
constexpr uint8_t restore(unsigned number) {
  return static_cast<uint8_t>(0xc0 | number);
}
constexpr uint8_t breg(unsigned number) {
  return static_cast<uint8_t>(0x70 + number);
}
constexpr uint8_t lit(unsigned value) {
  return static_cast<uint8_t>(0x30 | value);
}
inline constexpr uint8_t kUndefinedOp = 0x07, kRegisterOp = 0x09, kRememberState = 0x0a,
                         kRestoreState = 0x0b, kDefCfa = 0x0c, kDefCfaRegister = 0x0d,
                         kDefCfaOffset = 0x0e, kDefCfaExpression = 0x0f, kExpressionOp = 0x10,
                         kValExpression = 0x16, kOpDeref = 0x06, kOpAnd = 0x1a, kOpPlus = 0x22,
                         kOpShl = 0x24, kOpGe = 0x2a;

class EhFrame {
 public:
  static constexpr uint64_t kStart = 0x5000;  // AVMA of .eh_frame

  // The usual CIE: CFA = rsp + 8, return address below it; code factor 1, data -8.
  // Returns the AVMA.
  uint64_t cie(std::string_view augmentation = "zR",
               const Program& program = {kDefCfa, kRsp, 8, offset(kRip), 1}) {
    const uint64_t avma = begin();
    u32(0);
    bytes_.push_back(1);
    for (char letter : augmentation) bytes_.push_back(static_cast<uint8_t>(letter));
    bytes_.push_back(0);
    bytes_.push_back(1);     // code alignment
    bytes_.push_back(0x78);  // data alignment -8
    bytes_.push_back(kRip);
    if (augmentation.starts_with('z')) {
      bytes_.push_back(1);
      bytes_.push_back(0x1b);  // pointers: pc-relative, signed, four bytes
    }
    append(program);
    return end(avma);
  }

  uint64_t fde(uint64_t cie_avma, uint64_t code, uint32_t size, const Program& program) {
    const uint64_t avma = begin();
    u32(static_cast<uint32_t>(here() - cie_avma));
    u32(static_cast<uint32_t>(code - here()));
    u32(size);
    bytes_.push_back(0);  // augmentation data
    append(program);
    table_.emplace_back(code, avma);
    return end(avma);
  }

  // The terminator, then .eh_frame_hdr; its AVMA.
  uint64_t header(bool with_table = true) {
    u32(0);
    while (bytes_.size() % 4 != 0) bytes_.push_back(0);
    const uint64_t avma = here();
    bytes_.insert(bytes_.end(), {1, 0x1b, 0x03, uint8_t(with_table ? 0x3b : 0xff)});
    u32(static_cast<uint32_t>(kStart - here()));
    u32(static_cast<uint32_t>(table_.size()));
    std::sort(table_.begin(), table_.end());
    for (const auto& [code, fde] : table_) {
      u32(static_cast<uint32_t>(code - avma));
      u32(static_cast<uint32_t>(fde - avma));
    }
    return avma;
  }

  Image image() const { return {bytes_, kStart}; }
  std::vector<uint8_t>& bytes() { return bytes_; }

 private:
  uint64_t here() const { return kStart + bytes_.size(); }
  void u32(uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) {
      bytes_.push_back(static_cast<uint8_t>(value >> shift));
    }
  }
  void append(const Program& program) {
    bytes_.insert(bytes_.end(), program.begin(), program.end());
  }
  uint64_t begin() {
    const uint64_t avma = here();
    u32(0);
    return avma;
  }
  uint64_t end(uint64_t avma) {
    while (bytes_.size() % 4 != 0) bytes_.push_back(0);  // DW_CFA_nop
    const uint32_t length = static_cast<uint32_t>(here() - avma - 4);
    for (unsigned i = 0; i < 4; ++i) {
      bytes_[avma - kStart + i] = static_cast<uint8_t>(length >> (8 * i));
    }
    return avma;
  }

  std::vector<uint8_t> bytes_;
  std::vector<std::pair<uint64_t, uint64_t>> table_;
};

// Words by address; anything else cannot be read.
class FakeMemory {
 public:
  std::map<uint64_t, uint64_t> words;
  bool code_may_be_read = true;

  bool read(uint64_t avma, uint64_t& value) {
    const auto found = words.find(avma);
    if (found == words.end()) return false;
    value = found->second;
    return true;
  }
  // At any address within words that lie side by side.
  bool read_code(uint64_t avma, uint64_t& value) {
    const uint64_t word = avma & ~uint64_t{7}, shift = 8 * (avma - word);
    uint64_t next = 0;
    if (!read(word, value)) return false;
    if (shift == 0) return true;
    read(word + 8, next);
    value = value >> shift | next << (64 - shift);
    return true;
  }
  bool may_read_code() const { return code_may_be_read; }
  void put_code(uint64_t avma, std::string_view code) {
    for (size_t i = 0; i < code.size(); ++i, ++avma) {
      uint64_t& word = words[avma & ~uint64_t{7}];
      word |= uint64_t{static_cast<uint8_t>(code[i])} << 8 * (avma & 7);
    }
  }
  bool readable(uint64_t avma) { return words.contains(avma & ~uint64_t{7}); }
  // Makes an address one that a call has pushed.
  void put_call_before(uint64_t return_address) {
    constexpr uint64_t kCall = 0xe8'00'00'00;  // call rel32, in the last five bytes
    words[return_address - 8] = kCall;
  }
  static bool covers(uint64_t, uint64_t) { return false; }
  static uint64_t load(uint64_t) { return 0; }
};

// One module.
struct FakeModules {
  Module module;
  bool find(uint64_t pc, Module& result) const {
    if (!module.contains_code(pc)) return false;
    result = module;
    return true;
  }
};

}  // namespace sampan::unwind
