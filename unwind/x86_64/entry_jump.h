// Code without unwind information that leaves the stack pointer alone, and to which another function has
// jumped from the midst of its own frame. Haskell's is such: GHC's code keeps its own stack, jumps from piece to
// piece, and uses the frame of StgRun for what it calls. So the frame is that of the function which
// jumped, and its unwind information says of the jump where the caller's is.
//
// Which function this is, a return address on the stack tells: behind a call of a function that has such
// a jump, and just as far from the stack pointer as that function's unwind information says.
//
//   Memory: see stack_walk.h
//
// Freestanding: linked into the target; async-signal-safe. It lives on the walking thread's stack.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "unwind/call_site.h"
#include "unwind/cfi_row.h"
#include "unwind/packed_row.h"
#include "unwind/registers.h"
#include "unwind/x86_64/instruction.h"

namespace sampan::unwind {

template <typename Memory>
class EntryJump {
 public:
  EntryJump(Memory& memory, uint64_t sp) : memory_(memory), sp_(sp) {}

  // The next function that may have jumped. `is_code(pc)`: whether a module has it. Takes off `left` what was
  // looked at. False: there is none.
  template <typename IsCode>
  bool next(IsCode&& is_code, uint16_t& left) {
    for (; slot_ < kMostSlots && left > 0; ++slot_) {
      if (slot_ % 8 == 0) --left;
      if (!memory_.read(sp_ + 8 * slot_, return_address_)) return false;
      if ((sp_ + 8 * slot_) % 16 == 0) continue;  // the CFA above it is a multiple of 16
      const uint64_t page = return_address_ / kPage;
      if (return_address_ - sp_ < kStack || return_address_ >= kEndOfUserSpace ||
          std::find(no_code_, no_code_ + kKnown, page) != no_code_ + kKnown) {
        continue;
      }
      if (!is_code(return_address_)) {
        no_code_[next_no_code_++ % kKnown] = page;
        if (left > 0) --left;
        continue;
      }
      if (find_jump(left)) {
        ++slot_;
        return true;
      }
    }
    return false;
  }

  // Where the jump is, and the return address of its function.
  uint64_t jump() const { return jump_; }
  uint64_t return_address() const { return return_address_; }
  uint64_t cfa() const { return sp_ + 8 * slot_; }

  // Whether the jump's `row` leads to the return address. The stack pointer there, which the code may have
  // moved by little since, for a call's sake.
  bool fits(const CfiRow& row, uint64_t& sp) {
    const RegisterRule pc = row.registers[kRip];
    if (row.cfa_kind != CfiRow::kCfaRegister || row.cfa_register != kRsp ||
        pc.kind() != RegisterRule::kOffset) {
      return false;
    }
    const int64_t above = int64_t{row.cfa_value} + pc.value();
    const uint64_t slot = sp_ + 8 * (slot_ - 1);
    sp = slot - static_cast<uint64_t>(above);
    if (above < kSmallestFrame || sp < sp_ || sp - sp_ > kMostMoved) return false;
    const uint64_t cfa = slot + 8;
    uint64_t units[2] = {};
    for (unsigned i = 0; i < 2; ++i) {
      const RegisterRule rule = row.registers[i == 0 ? kRbp : kRbx];
      if (rule.kind() == RegisterRule::kSame) continue;
      const int64_t below = pc.value() + 8 - rule.value();
      if (rule.kind() != RegisterRule::kOffset || below <= 0 || below % 8 != 0) return true;
      units[i] = static_cast<uint64_t>(below) / 8;
    }
    row_ = PackedRow::pack(PackedRow::kFromSp, (cfa - sp_) / 8, units[0], units[1]);
    return true;
  }

  // After fits(): what says the same of the pc; kNone where nothing that fits does.
  PackedRow row() const { return row_; }

 private:
  // GHC's runtime system reserves 16 KB for what its code spills (RESERVED_C_STACK_BYTES).
  static constexpr uint64_t kMostSlots = 2560, kMostMoved = 64;
  static constexpr int64_t kSmallestFrame = 64;  // below, the jump may be a tail call
  static constexpr unsigned kMostOfEntry = 16;   // instructions
  static constexpr unsigned kKnown = 4, kTried = 12;
  static constexpr uint64_t kPage = 4096, kStack = 1 << 20;  // bytes of a stack that hold no code

  bool find_jump(uint16_t& left) {
    uint64_t words[2] = {};
    if (!memory_.read_code(return_address_ - 8, words[0]) ||
        call_length(words[0]) != kRelativeCallLength) {
      return false;
    }
    const uint64_t function =
        return_address_ + static_cast<uint64_t>(int64_t{static_cast<int32_t>(words[0] >> 32)});
    if (std::find(tried_, tried_ + kTried, function) != tried_ + kTried) return false;
    jump_ = function;
    for (unsigned i = 0; i < kMostOfEntry && left > 0; ++i, --left) {
      if (!memory_.read_code(jump_, words[0])) break;
      memory_.read_code(jump_ + 8, words[1]);
      const Instruction instruction = decode(std::span<const uint8_t, sizeof words>(
          reinterpret_cast<const uint8_t*>(words), sizeof words));
      if (instruction.operation == Operation::kIndirectJump) return true;
      if (instruction.operation != Operation::kOther && instruction.operation != Operation::kPush &&
          instruction.operation != Operation::kMove &&
          instruction.operation != Operation::kAddress &&
          instruction.operation != Operation::kLoad) {
        break;
      }
      jump_ += instruction.length;
    }
    tried_[next_tried_++ % kTried] = function;
    return false;
  }

  Memory& memory_;
  const uint64_t sp_;
  uint64_t slot_ = 0;
  uint64_t return_address_ = 0, jump_ = 0;
  uint64_t no_code_[kKnown] = {};  // pages; there is none at 0
  uint64_t tried_[kTried] = {};    // functions
  unsigned next_no_code_ = 0, next_tried_ = 0;
  PackedRow row_;
};

}  // namespace sampan::unwind
