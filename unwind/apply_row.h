// Takes the registers of a frame to its caller: by a full row (every register, every kind of rule),
// or by the frame pointer.
// `Memory` is as in expression.h.
//
// Freestanding: linked into the target; async-signal-safe.
#pragma once

#include <cstdint>

#include "unwind/call_site.h"
#include "unwind/cfi_row.h"
#include "unwind/expression.h"

namespace sampan::unwind {

// The result of a step from a frame to its caller.
enum class Step : uint8_t {
  kCaller,        // the registers are the caller's now
  kRoot,          // there is no caller
  kNoRule,        // nothing says how to continue
  kBadAddress,    // a slot that cannot be read
  kDamaged,       // invalid unwind information
  kNoProgress,    // the caller's frame is not above this one
  kLostRegister,  // a register is needed that was not followed so far
  kUnloading,     // modules must not be read now
  kTooMuchWork,   // the walk has searched as many tables as it may
  kNoCall,        // rbp leads to what is no return address
};

constexpr Step step_of(ExpressionResult result) {
  switch (result) {
    case ExpressionResult::kOk: return Step::kCaller;
    case ExpressionResult::kBadAddress: return Step::kBadAddress;
    case ExpressionResult::kLostRegister: return Step::kLostRegister;
    case ExpressionResult::kDamaged: break;
  }
  return Step::kDamaged;
}

template <typename Memory>
class RowApplication {
 public:
  // `file` is the frame's and becomes the caller's; its rsp is the CFA unless the row says
  // otherwise. Expressions are read from `image`. When the result is not kCaller, `file` is
  // unchanged.
  static Step apply(const CfiRow& row, const Image& image, Memory& memory, RegisterFile& file) {
    if (row.registers[kRip].kind() == RegisterRule::kUndefined) return Step::kRoot;
    RowApplication application{row, image, memory, file};
    if (Step step = application.compute_cfa(); step != Step::kCaller) return step;
    RegisterFile caller = file;
    for (unsigned number = 0; number < kRegisterCount; ++number) {
      const Step step = application.restore(number, caller);
      if (step == Step::kCaller) continue;
      // The caller's pc must be known; another register only when it is used.
      if (number == kRip) return step;
      caller.known &= ~register_bit(number);
    }
    if (row.registers[kRsp].kind() == RegisterRule::kSame) caller.set(kRsp, application.cfa_);
    file = caller;
    return Step::kCaller;
  }

 private:
  RowApplication(const CfiRow& row, const Image& image, Memory& memory, const RegisterFile& file)
      : row_(row), image_(image), memory_(memory), file_(file) {}

  Step compute_cfa() {
    if (row_.cfa_kind == CfiRow::kCfaExpression) {
      Expression<Memory> expression(file_, memory_);
      return step_of(expression.evaluate(image_, static_cast<uint32_t>(row_.cfa_value), cfa_));
    }
    if (!file_.knows(row_.cfa_register)) return Step::kLostRegister;
    cfa_ = file_.registers.value[row_.cfa_register] + plus(row_.cfa_value);
    return Step::kCaller;
  }

  Step restore(unsigned number, RegisterFile& caller) {
    const RegisterRule rule = row_.registers[number];
    uint64_t slot = cfa_ + plus(rule.value());
    switch (rule.kind()) {
      case RegisterRule::kSame: return number == kRip ? Step::kDamaged : Step::kCaller;
      case RegisterRule::kUndefined: return Step::kNoRule;
      case RegisterRule::kOffset:
        // A slot below the stack pointer is dead: the function has already popped the register.
        if (slot < file_.registers.value[kRsp] && number != kRip) return Step::kCaller;
        return load(slot, number, caller);
      case RegisterRule::kValueOffset: caller.set(number, slot); return Step::kCaller;
      case RegisterRule::kRegister: {
        const unsigned other = static_cast<unsigned>(rule.value());
        if (!file_.knows(other)) return Step::kLostRegister;
        caller.set(number, file_.registers.value[other]);
        return Step::kCaller;
      }
      case RegisterRule::kExpression:
      case RegisterRule::kValueExpression: break;
    }
    Expression<Memory> expression(file_, memory_);
    expression.push(cfa_);
    const ExpressionResult result =
        expression.evaluate(image_, static_cast<uint32_t>(rule.value()), slot);
    if (result != ExpressionResult::kOk) return step_of(result);
    if (rule.kind() == RegisterRule::kExpression) return load(slot, number, caller);
    caller.set(number, slot);
    return Step::kCaller;
  }

  Step load(uint64_t slot, unsigned number, RegisterFile& caller) {
    uint64_t value = 0;
    if (!memory_.read(slot, value)) return Step::kBadAddress;
    caller.set(number, value);
    return Step::kCaller;
  }

  static uint64_t plus(int32_t offset) { return static_cast<uint64_t>(int64_t{offset}); }

  const CfiRow& row_;
  const Image& image_;
  Memory& memory_;
  const RegisterFile& file_;
  uint64_t cfa_ = 0;
};

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
