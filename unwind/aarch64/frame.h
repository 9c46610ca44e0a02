// Frames of AArch64: how a packed row leads from one to its caller, and what leads on where there is no
// row (Procedure Call Standard for the Arm 64-bit Architecture, AAPCS64). `Memory` is as in
// stack_walk.h.
//
// A call leaves the return address in x30, the link register, which a function saves before it calls
// another one. So only the frame that was interrupted may have its return address there.
//
// Freestanding: linked into the target; async-signal-safe.
#pragma once

#include <cstdint>

#include "unwind/call_site.h"
#include "unwind/packed_row.h"
#include "unwind/registers.h"
#include "unwind/step.h"

namespace sampan::unwind {

// What a packed row follows, in machine registers; `other` is x30.
//
// Where a frame was left by its frame pointer, the caller's stack pointer is not known: a frame record
// lies anywhere in a frame. `sp` is a lower bound then.
struct Frame {
  uint64_t pc;
  uint64_t sp;
  uint64_t fp;
  uint64_t other;
  bool knows_sp;
};

inline Frame frame_of(const RegisterFile& file) {
  const uint64_t* value = file.registers.value;
  return {value[kPc], value[kSp], value[kFp], value[kLr], file.knows(kSp)};
}
inline void put_frame(const Frame& frame, RegisterFile& file) {
  file.registers.value[kPc] = frame.pc;
  file.registers.value[kSp] = frame.sp;
  file.registers.value[kFp] = frame.fp;
  file.registers.value[kLr] = frame.other;
  if (frame.knows_sp) {
    file.known |= register_bit(kSp);
  } else {
    file.known &= ~register_bit(kSp);
  }
}

// kNone when the row does not fit.
constexpr PackedRow pack(const CfiRow& row) {
  if (row.registers[kLr].kind() == RegisterRule::kUndefined) {
    return {PackedRow::kRoot, 0, 0, 0};
  }
  uint64_t f = 0;
  uint64_t o = 0;
  if (row.signal_frame || row.cfa_kind != CfiRow::kCfaRegister || row.cfa_value < 0 ||
      row.cfa_value % 8 != 0 || row.registers[kSp].kind() != RegisterRule::kSame ||
      !PackedRow::pack_slot(row.registers[kFp], f) ||
      !PackedRow::pack_slot(row.registers[kLr], o)) {
    return {};
  }
  const uint64_t c = static_cast<uint64_t>(row.cfa_value / 8);
  switch (row.cfa_register) {
    case kSp: return PackedRow::pack(PackedRow::kFromSp, c, f, o);
    case kFp: return PackedRow::pack(PackedRow::kFromFp, c, f, o);
    default: return {};
  }
}

// Whether the two slots are a frame record, [fp, lr]: x29 leads to it while the function calls another
// (AAPCS64, 6.4.6).
constexpr bool is_frame_record(uint64_t fp_offset, uint64_t lr_offset) {
  return lr_offset != 0 && fp_offset == lr_offset + 8;
}

// The equations of packed_row.h, and pc = x30, sp = CFA.
template <typename Memory>
inline Step follow(PackedRow row, bool interrupted, Memory& memory, Frame& frame) {
  if (row.kind() == PackedRow::kRoot) return Step::kRoot;
  uint64_t cfa = (row.kind() == PackedRow::kFromSp ? frame.sp : frame.fp) + row.cfa_offset();
  if (row.kind() == PackedRow::kFromSp && !frame.knows_sp) [[unlikely]] {
    if (!is_frame_record(row.fp_offset(), row.other_offset())) return Step::kLostRegister;
    cfa = frame.fp + row.fp_offset();
  }
  const uint64_t fp_slot = cfa - row.fp_offset();
  const uint64_t lr_slot = cfa - row.other_offset();
  const bool has_fp = row.fp_offset() != 0 && fp_slot >= frame.sp;
  const bool has_lr = row.other_offset() != 0 && lr_slot >= frame.sp;
  if (has_lr || !interrupted ? cfa <= frame.sp : cfa < frame.sp) return Step::kNoProgress;
  if (!has_lr && !interrupted) return Step::kDamaged;
  if (memory.covers(frame.sp, cfa)) [[likely]] {
    if (has_fp) frame.fp = memory.load(fp_slot);
    if (has_lr) frame.other = memory.load(lr_slot);
  } else if ((has_fp && !memory.read(fp_slot, frame.fp)) ||
             (has_lr && !memory.read(lr_slot, frame.other))) {
    return Step::kBadAddress;
  }
  frame.other = without_signature(frame.other);
  frame.pc = frame.other;
  frame.sp = cfa;
  frame.knows_sp = true;
  return Step::kCaller;
}

// gcc has no segmented stacks on this processor.
template <typename Memory>
Step follow_to_segment(PackedRow /*row*/, Memory& /*memory*/, Frame& /*frame*/) {
  return Step::kNoProgress;
}

// What a row leaves to be done for the caller: its pc is what it restores into x30.
inline Step complete_caller(const CfiRow& row, const RegisterFile& file, RegisterFile& caller) {
  if (!caller.knows(kLr)) return Step::kLostRegister;
  const uint64_t pc = without_signature(caller.registers.value[kLr]);
  // It has called, and has no rule for the return address. (Recursion may return to the same place.)
  const bool is_kept = row.registers[kLr].kind() == RegisterRule::kSame;
  if (is_kept && pc == file.registers.value[kPc]) return Step::kDamaged;
  caller.set(kLr, pc);
  caller.set(kPc, pc);
  return Step::kCaller;
}

// The CFA of a frame whose stack pointer is not known, by its frame record.
inline bool cfa_by_frame_record(const CfiRow& row, const RegisterFile& file, uint64_t& cfa) {
  uint64_t f = 0;
  uint64_t o = 0;
  if (row.cfa_register != kSp || !file.knows(kFp) || !PackedRow::pack_slot(row.registers[kFp], f) ||
      !PackedRow::pack_slot(row.registers[kLr], o) || !is_frame_record(f * 8, o * 8)) {
    return false;
  }
  cfa = file.registers.value[kFp] + f * 8;
  return true;
}

// Nothing has been done since the call, so the return address is still in x30.
template <typename Memory>
Step return_at_once(Memory& memory, RegisterFile& file) {
  if (!file.knows(kLr)) return Step::kNoRule;
  const uint64_t pc = without_signature(file.registers.value[kLr]);
  if (!is_return_address(memory, pc)) return Step::kNoRule;
  file.set(kPc, pc);
  return Step::kCaller;
}

// The code to which a signal handler returns has no unwind information in the kernel's vDSO. It is told
// by its two instructions. At the stack pointer is struct rt_sigframe of arch/arm64/kernel/signal.c: a
// siginfo, then a ucontext, whose sigcontext has x0 to x30, sp and pc behind the fault's address.
template <typename Memory>
Step leave_signal_frame(Memory& memory, RegisterFile& file) {
  constexpr uint64_t kSignalReturn = 0xd400'0001'd280'1168;  // mov x8, #139; svc #0
  constexpr uint64_t kFirstRegister = 128 + 176 + 8;
  uint64_t code = 0;
  if (!file.knows(kSp) || !memory.read_code(file.registers.value[kPc], code) ||
      code != kSignalReturn) {
    return Step::kNoRule;
  }
  static_assert(kSp == kLr + 1 && kPc == kSp + 1);
  Registers interrupted;
  const uint64_t first = file.registers.value[kSp] + kFirstRegister;
  for (unsigned number = 0; number < kRegisterCount; ++number) {
    if (!memory.read(first + number * 8, interrupted.value[number])) return Step::kBadAddress;
  }
  file = {interrupted, kAllRegisters};
  return Step::kCaller;
}

// Follows the frame pointer where there is no unwind information (musl, Go, code made at run time).
// *x29 is the caller's x29, and the return address is above it; a record with x29 = 0 is the outermost
// (AAPCS64, 6.4.6). Code that uses x29 for other things is told by what should be the return address:
// no call stands before it. Where code may not be read, x29 is believed.
//
// `chained`: x29 was read from such a frame. Elsewhere it may be anything, so 0 means nothing.
template <typename Memory>
Step follow_frame_pointer(Memory& memory, bool chained, RegisterFile& file) {
  if (!file.knows(kFp)) return Step::kLostRegister;
  const uint64_t record = file.registers.value[kFp];
  if (record == 0 && chained) return Step::kRoot;
  uint64_t fp = 0;
  uint64_t lr = 0;
  if (record % 8 != 0 || record < file.registers.value[kSp] || !memory.read(record, fp) ||
      !memory.read(record + 8, lr)) {
    return Step::kNoRule;
  }
  lr = without_signature(lr);
  if (lr == 0 && fp == 0) return Step::kRoot;
  if (memory.may_read_code() && !is_return_address(memory, lr)) return Step::kNoCall;
  file.registers.value[kSp] = record + 16;  // at least
  file.known = 0;                           // where such code saves the other registers is unknown
  file.set(kFp, fp);
  file.set(kLr, lr);
  file.set(kPc, lr);
  return Step::kCaller;
}

}  // namespace sampan::unwind
