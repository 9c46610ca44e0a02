// Frames of x86-64: how a packed row leads from one to its caller, and what leads on where there is no
// row. `Memory` is as in stack_walk.h.
//
// Freestanding: linked into the target; async-signal-safe.
#pragma once

#include <cstdint>

#include "unwind/call_site.h"
#include "unwind/packed_row.h"
#include "unwind/registers.h"
#include "unwind/step.h"

namespace sampan::unwind {

// What a packed row follows, in machine registers; `other` is rbx.
struct Frame {
  uint64_t pc;
  uint64_t sp;
  uint64_t fp;
  uint64_t other;
};

inline Frame frame_of(const RegisterFile& file) {
  const uint64_t* value = file.registers.value;
  return {value[kRip], value[kRsp], value[kRbp], value[kRbx]};
}
inline void put_frame(const Frame& frame, RegisterFile& file) {
  file.registers.value[kRip] = frame.pc;
  file.registers.value[kRsp] = frame.sp;
  file.registers.value[kRbp] = frame.fp;
  file.registers.value[kRbx] = frame.other;
}

// kNone when the row does not fit.
constexpr PackedRow pack(const CfiRow& row) {
  if (row.registers[kRip].kind() == RegisterRule::kUndefined) {
    return {PackedRow::kRoot, 0, 0, 0};
  }
  uint64_t pc = 0;
  uint64_t f = 0;
  uint64_t o = 0;
  if (row.signal_frame || row.cfa_kind != CfiRow::kCfaRegister || row.cfa_value < 0 ||
      row.cfa_value % 8 != 0 || row.registers[kRsp].kind() != RegisterRule::kSame ||
      !PackedRow::pack_slot(row.registers[kRip], pc) || pc != 1 ||
      !PackedRow::pack_slot(row.registers[kRbp], f) ||
      !PackedRow::pack_slot(row.registers[kRbx], o)) {
    return {};
  }
  const uint64_t c = static_cast<uint64_t>(row.cfa_value / 8);
  switch (row.cfa_register) {
    case kRsp: return PackedRow::pack(PackedRow::kFromSp, c, f, o);
    case kRbp: return PackedRow::pack(PackedRow::kFromFp, c, f, o);
    case kRbx: return PackedRow::pack(PackedRow::kFromOther, c, f, o);
    default: return {};
  }
}

// The equations of packed_row.h, and pc = *(CFA - 8), sp = CFA.
template <typename Memory>
inline Step follow(PackedRow row, [[maybe_unused]] bool interrupted, Memory& memory, Frame& frame) {
  uint64_t base = frame.sp;
  switch (row.kind()) {
    case PackedRow::kFromSp: break;
    case PackedRow::kFromFp: base = frame.fp; break;
    case PackedRow::kFromOther: base = frame.other; break;
    default: return Step::kRoot;
  }
  const uint64_t cfa = base + row.cfa_offset();
  if (cfa <= frame.sp) return Step::kNoProgress;
  const uint64_t fp_slot = cfa - row.fp_offset();
  const uint64_t other_slot = cfa - row.other_offset();
  const bool has_fp = row.fp_offset() != 0 && fp_slot >= frame.sp;
  const bool has_other = row.other_offset() != 0 && other_slot >= frame.sp;
  if (memory.covers(frame.sp, cfa) && cfa - frame.sp >= 8) [[likely]] {
    frame.pc = memory.load(cfa - 8);
    if (has_fp) frame.fp = memory.load(fp_slot);
    if (has_other) frame.other = memory.load(other_slot);
  } else if (!memory.read(cfa - 8, frame.pc) || (has_fp && !memory.read(fp_slot, frame.fp)) ||
             (has_other && !memory.read(other_slot, frame.other))) {
    return Step::kBadAddress;
  }
  frame.sp = cfa;
  return Step::kCaller;
}

// Where `follow` finds no progress: a function that goes on with another segment of the stack (gcc's
// __morestack, -fsplit-stack) may have its caller below. It keeps a frame pointer to the one that it has saved, so
// that leads on, if a call stands where the caller goes on. Segments are pages: what is nearer is no other one.
template <typename Memory>
[[gnu::noinline]] Step follow_to_segment(PackedRow row, Memory& memory, Frame& frame) {
  constexpr uint64_t kNearest = 4096;
  const uint64_t cfa = frame.fp + row.cfa_offset();
  uint64_t fp = 0;
  uint64_t pc = 0;
  if (row.kind() != PackedRow::kFromFp || row.cfa_offset() != row.fp_offset() ||
      frame.fp % 8 != 0 || frame.sp - cfa < kNearest || !memory.read(frame.fp, fp) ||
      !memory.read(cfa - 8, pc) || !is_return_address(memory, pc)) {
    return Step::kNoProgress;
  }
  frame = {pc, cfa, fp, frame.other};
  return Step::kCaller;
}

// What a row leaves to be done for the caller: nothing, it restores the pc itself.
inline Step complete_caller(const CfiRow& /*row*/, const RegisterFile& /*file*/,
                            RegisterFile& /*caller*/) {
  return Step::kCaller;
}

// The CFA of a frame whose row needs a register that is not known: no other says it.
inline bool cfa_by_frame_record(const CfiRow& /*row*/, const RegisterFile& /*file*/,
                                uint64_t& /*cfa*/) {
  return false;
}

// Nothing has been done since the call, so the return address is still on top of the stack.
template <typename Memory>
Step return_at_once(Memory& memory, RegisterFile& file) {
  const uint64_t sp = file.registers.value[kRsp];
  uint64_t pc = 0;
  if (!memory.read(sp, pc) || !is_return_address(memory, pc)) return Step::kNoRule;
  file.set(kRip, pc);
  file.set(kRsp, sp + 8);
  return Step::kCaller;
}

// The code to which a signal handler returns has unwind information.
template <typename Memory>
Step leave_signal_frame(Memory& /*memory*/, RegisterFile& /*file*/) {
  return Step::kNoRule;
}

// Follows the frame pointer where there is no unwind information (musl, Go, code made at run time).
// By the psABI, *rbp is the caller's rbp and the return address is above it (3.2.2); rbp = 0 marks
// the outermost frame (3.4.1). Code that uses rbp for other things is told by what should be the
// return address: no call stands before it. Where code may not be read, rbp is believed: else there
// would be no stacks of a sandboxed browser's scripts.
//
// `chained`: rbp was read from such a frame. Elsewhere it may be anything, so 0 means nothing.
template <typename Memory>
Step follow_frame_pointer(Memory& memory, bool chained, RegisterFile& file) {
  if (!file.knows(kRbp)) return Step::kLostRegister;
  const uint64_t frame = file.registers.value[kRbp];
  if (frame == 0 && chained) return Step::kRoot;
  uint64_t bp = 0;
  uint64_t pc = 0;
  if (frame % 8 != 0 || frame < file.registers.value[kRsp] || !memory.read(frame, bp) ||
      !memory.read(frame + 8, pc)) {
    return Step::kNoRule;
  }
  if (memory.may_read_code() && !is_return_address(memory, pc)) return Step::kNoCall;
  file.known = 0;  // where such code saves the other registers is unknown
  file.set(kRbp, bp);
  file.set(kRsp, frame + 16);
  file.set(kRip, pc);
  return Step::kCaller;
}

}  // namespace sampan::unwind
