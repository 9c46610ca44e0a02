// A frame of code without unwind information from the start of its function: how far the stack pointer
// is below the return address at a pc follows from what the instructions before it push and release.
// For functions from which no way leads to a return (return_path.h): those that never return, and
// large ones.
//
// Where a function starts is told by its caller's call. The words of the stack are looked through for
// a return address behind a call of a place before the pc, from which exactly this word is the
// function's return address. A function that is called through a pointer is looked for by its first
// instruction, which stands behind the end of another function. Only a frame whose return address is
// one is believed.
//
//   Memory: see stack_walk.h
//
// Freestanding: linked into the target; async-signal-safe. It lives on the walking thread's stack.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "unwind/call_site.h"
#include "unwind/image.h"
#include "unwind/packed_row.h"
#include "unwind/registers.h"
#include "unwind/step.h"
#include "unwind/x86_64/instruction.h"

namespace sampan::unwind {

template <typename Memory>
class FrameFromStart {
 public:
  // `module`: which has the pc of `file`. `called`: that is a return address.
  FrameFromStart(Memory& memory, const Module& module, const RegisterFile& file, bool called)
      : memory_(memory), module_(module), file_(file), called_(called) {}

  // kCaller: `file` are the caller's registers. Looks at `left` instructions at most, and takes off
  // what it used. Without `guess`, only calls tell where a function starts.
  Step find(uint16_t& left, bool guess, RegisterFile& file);

  // After kCaller: what says the same of the pc; kNone where nothing that fits does.
  PackedRow row() const { return row_; }

 private:
  static constexpr uint64_t kLargestFunction = 1 << 14, kFarthestGuess = 1 << 13;
  static constexpr unsigned kMostSlots = 1024;  // of the stack
  static constexpr unsigned kTargets = 24, kKept = 6;
  static constexpr uint8_t kKeptRegisters[kKept] = {kRbp, kRbx, 12, 13, 14, 15};

  enum class Called : uint8_t { kNotThere, kThere, kThroughPointer };

  bool find_by_calls();
  bool find_by_ends();
  bool try_start(uint64_t start, bool guessed);
  bool sweep(uint64_t start);
  bool apply(const Instruction& instruction);
  Called who_is_called(uint64_t return_address, uint64_t start);
  bool may_start(uint64_t pc);
  void leave(RegisterFile& file);

  bool fetch(uint64_t pc, Instruction& instruction) {
    if (left_ == 0) return false;
    --left_;
    uint64_t words[2] = {};
    if (!memory_.read_code(pc, words[0])) return false;
    memory_.read_code(pc + 8, words[1]);  // beyond the end of the code: not a part of it
    const auto* const bytes = reinterpret_cast<const uint8_t*>(words);
    instruction = decode(std::span<const uint8_t, sizeof words>(bytes, sizeof words));
    return instruction.operation != Operation::kInvalid;
  }
  void expect(uint64_t pc) {
    targets_[next_target_++ % kTargets] = {static_cast<uint32_t>(pc), depth_};
  }
  bool is_expected(uint64_t pc) {
    for (const Target& target : targets_) {
      if (target.pc != static_cast<uint32_t>(pc)) continue;
      depth_ = body_depth_ = target.depth;
      return true;
    }
    return false;
  }
  uint64_t goal() const { return file_.registers.value[kRip]; }
  // Of the instruction that is executed: before a return address, the call.
  uint64_t last() const { return goal() - called_; }
  uint64_t sp() const { return file_.registers.value[kRsp]; }

  Memory& memory_;
  const Module& module_;
  const RegisterFile& file_;
  const bool called_;
  uint16_t left_ = 0;
  // Of the instruction that the sweep is at, in bytes below the CFA:
  int32_t depth_ = 0;       // the stack pointer; kUnknown
  int32_t body_depth_ = 0;  // before an epilogue began
  int32_t fp_depth_ = 0;    // the frame pointer; kUnknown
  int32_t kept_[kKept] =
      {};  // where a register was pushed first; 0: nowhere. Above the stack pointer.
  static constexpr int32_t kUnknown = -1, kDeepest = 1 << 24;

  // Where branches go, by the low half of the AVMA, and the stack pointer there.
  struct Target {
    uint32_t pc;
    int32_t depth;
  };
  Target targets_[kTargets] = {};
  unsigned next_target_ = 0;
  uint64_t cfa_ = 0, return_address_ = 0;
  PackedRow row_;
};

template <typename Memory>
Step FrameFromStart<Memory>::find(uint16_t& left, bool guess, RegisterFile& file) {
  left_ = left;
  const bool found = find_by_calls() || (guess && find_by_ends());
  left = left_;
  if (!found) return Step::kNoRule;
  leave(file);
  return Step::kCaller;
}

// The nearest return address first.
template <typename Memory>
bool FrameFromStart<Memory>::find_by_calls() {
  uint64_t tried[4] = {};  // recursion leaves the same again and again
  unsigned count = 0;
  uint64_t word = 0, before = 0;
  for (unsigned slot = 0; slot < kMostSlots && memory_.read(sp() + 8 * slot, word); ++slot) {
    if (!module_.contains_code(word) || left_ == 0) continue;
    --left_;
    if (!memory_.read_code(word - 8, before) || call_length(before) != kRelativeCallLength)
      continue;
    const uint64_t start =
        word + static_cast<uint64_t>(int64_t{static_cast<int32_t>(before >> 32)});
    if (last() - start >= kLargestFunction || !module_.contains_code(start) ||
        std::find(tried, tried + 4, start) != tried + 4) {
      continue;
    }
    tried[count++ % 4] = start;
    if (try_start(start, false)) return true;
  }
  return false;
}

template <typename Memory>
bool FrameFromStart<Memory>::find_by_ends() {
  const uint64_t most = std::min(last() - module_.code_start, kFarthestGuess);
  for (uint64_t back = 0; back <= most && left_ != 0; ++back) {
    if (back % 4 == 0) --left_;
    if (may_start(last() - back) && try_start(last() - back, true)) return true;
  }
  return false;
}

// endbr64, or a push or a smaller stack pointer right behind what does not go on: a return, a jump, a call
// that does not return, or padding.
template <typename Memory>
bool FrameFromStart<Memory>::may_start(uint64_t pc) {
  uint64_t before = 0, code = 0;
  if (!memory_.read_code(pc, code)) return false;
  if ((code & 0xffff'ffff) == 0xfa1e'0ff3) return true;
  const bool pushes = (code & 0xf8) == 0x50 || (code & 0xf8ff) == 0x5041;
  const bool reserves = (code & 0xff'ffff) == 0xec'8348 || (code & 0xff'ffff) == 0xec'8148;
  if ((!pushes && !reserves) || !memory_.read_code(pc - 8, before)) return false;
  const auto byte = [before](unsigned back) { return before >> (64 - 8 * back) & 0xff; };
  return byte(1) == 0xc3 || byte(1) == 0xcc || byte(1) == 0x90 || byte(2) == 0xeb ||
         byte(5) == 0xe8 || byte(5) == 0xe9 || (pc % 16 == 0 && byte(1) == 0);
}

template <typename Memory>
bool FrameFromStart<Memory>::try_start(uint64_t start, bool guessed) {
  if (!sweep(start)) return false;
  if (depth_ != kUnknown) {
    cfa_ = sp() + static_cast<uint64_t>(depth_);
  } else if (fp_depth_ != kUnknown && file_.knows(kRbp)) {
    cfa_ = file_.registers.value[kRbp] + static_cast<uint64_t>(fp_depth_);
  } else {
    return false;
  }
  if (cfa_ <= sp() || cfa_ % 16 != 0 || !memory_.read(cfa_ - 8, return_address_)) return false;
  const Called called = who_is_called(return_address_, start);
  return called == Called::kThere || (guessed && called == Called::kThroughPointer);
}

// A call of a jump through a pointer, as the PLT has, is one through a pointer.
template <typename Memory>
auto FrameFromStart<Memory>::who_is_called(uint64_t return_address, uint64_t start) -> Called {
  uint64_t before = 0;
  if (return_address < 8 || !memory_.read_code(return_address - 8, before)) {
    return Called::kNotThere;
  }
  const unsigned length = call_length(before);
  if (length != kRelativeCallLength)
    return length != 0 ? Called::kThroughPointer : Called::kNotThere;
  const uint64_t target =
      return_address + static_cast<uint64_t>(int64_t{static_cast<int32_t>(before >> 32)});
  if (target == start) return Called::kThere;
  Instruction instruction;
  if (!fetch(target, instruction)) return Called::kNotThere;
  return instruction.operation == Operation::kTailCall ? Called::kThroughPointer
                                                       : Called::kNotThere;
}

// From `start` to the pc, in the order of the addresses. What follows a jump is reached by a branch
// that was met, or by one that is not seen, as a switch's: then the stack is as it was in the
// function's body.
template <typename Memory>
bool FrameFromStart<Memory>::sweep(uint64_t start) {
  depth_ = body_depth_ = 8;
  fp_depth_ = kUnknown;
  next_target_ = 0;
  std::memset(targets_, 0, sizeof targets_);
  std::memset(kept_, 0, sizeof kept_);
  bool goes_on = true;
  for (uint64_t pc = start;;) {
    if (!goes_on) goes_on = is_expected(pc);
    if (!called_ && pc == goal()) return true;
    if (pc > last()) return false;
    Instruction instruction;
    if (!fetch(pc, instruction)) return false;
    switch (instruction.operation) {
      case Operation::kJump:
      case Operation::kBranch: {
        const uint64_t target = instruction.target(pc);
        if (target > pc && target <= goal()) expect(target);
        if (instruction.operation == Operation::kBranch) break;
        [[fallthrough]];
      }
      case Operation::kIndirectJump:
      case Operation::kReturn:
      case Operation::kTailCall:
      case Operation::kStop:
        goes_on = false;
        depth_ = body_depth_;
        break;
      case Operation::kCall:
        if (called_ && pc + instruction.length == goal()) return true;
        break;
      default:
        if (!apply(instruction)) return false;
        break;
    }
    pc += instruction.length;
  }
}

template <typename Memory>
bool FrameFromStart<Memory>::apply(const Instruction& instruction) {
  const unsigned to = instruction.to, from = instruction.base;
  const int32_t before = depth_;
  switch (instruction.operation) {
    case Operation::kPush: {
      if (depth_ == kUnknown) break;
      depth_ += 8;
      const auto* const kept = std::find(kKeptRegisters, kKeptRegisters + kKept, from);
      if (kept == kKeptRegisters + kKept) break;
      int32_t& slot = kept_[kept - kKeptRegisters];
      if (slot == 0 || slot > depth_) slot = depth_;
      break;
    }
    case Operation::kPop:
      if (to == kRsp) return false;
      if (depth_ != kUnknown) depth_ -= 8;
      break;
    case Operation::kMove:
    case Operation::kAddress: {
      const int32_t base = from == kRsp ? depth_ : from == kRbp ? fp_depth_ : kUnknown;
      const int64_t depth = base - instruction.displacement;
      const bool known = base != kUnknown && depth >= 0 && depth < kDeepest;
      if (to == kRsp) depth_ = known ? static_cast<int32_t>(depth) : kUnknown;
      if (to == kRbp) fp_depth_ = known ? static_cast<int32_t>(depth) : kUnknown;
      break;
    }
    case Operation::kLoad:
      if (to == kRsp) depth_ = kUnknown;
      if (to == kRbp) fp_depth_ = kUnknown;
      break;
    case Operation::kAlign:
    case Operation::kSetsSp: depth_ = kUnknown; break;
    case Operation::kLeave:
      if (fp_depth_ == kUnknown) return false;
      depth_ = fp_depth_ - 8;
      break;
    default: return true;
  }
  if (depth_ != kUnknown && (depth_ < 8 || depth_ > kDeepest)) return false;
  if (depth_ == kUnknown || (before != kUnknown && depth_ > before)) body_depth_ = depth_;
  return true;
}

template <typename Memory>
void FrameFromStart<Memory>::leave(RegisterFile& file) {
  RegisterFile caller = file_;
  caller.known = 0;
  for (unsigned i = 0; i < kKept; ++i) {
    const unsigned number = kKeptRegisters[i];
    if (depth_ != kUnknown && kept_[i] > depth_) kept_[i] = 0;  // popped
    uint64_t word = file_.registers.value[number];
    if (kept_[i] != 0 ? memory_.read(cfa_ - static_cast<uint64_t>(kept_[i]), word)
                      : file_.knows(number)) {
      caller.set(number, word);
    }
  }
  caller.set(kRip, return_address_);
  caller.set(kRsp, cfa_);
  const bool from_sp = depth_ != kUnknown;
  const auto units = [](int32_t bytes) { return static_cast<uint64_t>(bytes / 8); };
  if ((from_sp ? depth_ : fp_depth_) % 8 == 0) {
    row_ = PackedRow::pack(from_sp ? PackedRow::kFromSp : PackedRow::kFromFp,
                           units(from_sp ? depth_ : fp_depth_), units(kept_[0]), units(kept_[1]));
  }
  file = caller;
}

}  // namespace sampan::unwind
