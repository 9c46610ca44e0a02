// Takes the registers of a frame to its caller by a full row: every register, every kind of rule.
// `Memory` is as in expression.h.
//
// Freestanding: linked into the target; async-signal-safe.
#pragma once

#include <cstdint>

#include "unwind/cfi_row.h"
#include "unwind/expression.h"
#include "unwind/frame.h"
#include "unwind/step.h"

namespace sampan::unwind {

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
  // `file` is the frame's and becomes the caller's; its stack pointer is the CFA unless the row says
  // otherwise. Expressions are read from `image`. When the result is not kCaller, `file` is
  // unchanged.
  static Step apply(const CfiRow& row, const Image& image, Memory& memory, RegisterFile& file) {
    if (row.registers[kReturnColumn].kind() == RegisterRule::kUndefined) return Step::kRoot;
    RowApplication application{row, image, memory, file};
    if (Step step = application.compute_cfa(); step != Step::kCaller) return step;
    RegisterFile caller = file;
    for (unsigned number = 0; number < kRegisterCount; ++number) {
      const Step step = application.restore(number, caller);
      if (step == Step::kCaller) continue;
      // The caller's pc must be known; another register only when it is used.
      if (number == kReturnColumn) return step;
      caller.known &= ~register_bit(number);
    }
    if (row.registers[kSp].kind() == RegisterRule::kSame) caller.set(kSp, application.cfa_);
    if (Step step = complete_caller(row, file, caller); step != Step::kCaller) return step;
    file = caller;
    return Step::kCaller;
  }

 private:
  RowApplication(const CfiRow& row, const Image& image, Memory& memory, const RegisterFile& file)
      : row_(row), image_(image), memory_(memory), file_(file) {}

  Step compute_cfa() {
    if (row_.cfa_kind == CfiRow::kCfaExpression) {
      return step_of(evaluate(row_.cfa_value, nullptr, cfa_));
    }
    if (!file_.knows(row_.cfa_register)) {
      return cfa_by_frame_record(row_, file_, cfa_) ? Step::kCaller : Step::kLostRegister;
    }
    cfa_ = file_.registers.value[row_.cfa_register] + plus(row_.cfa_value);
    return Step::kCaller;
  }

  Step restore(unsigned number, RegisterFile& caller) {
    const RegisterRule rule = row_.registers[number];
    uint64_t slot = cfa_ + plus(rule.value());
    switch (rule.kind()) {
      case RegisterRule::kSame: return may_stay(number) ? Step::kCaller : Step::kDamaged;
      case RegisterRule::kUndefined: return Step::kNoRule;
      case RegisterRule::kOffset:
        // A slot below the stack pointer is dead: the function has already popped the register.
        if (slot < file_.registers.value[kSp] && may_stay(number)) return Step::kCaller;
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
    const ExpressionResult result = evaluate(rule.value(), &cfa_, slot);
    if (result != ExpressionResult::kOk) return step_of(result);
    if (rule.kind() == RegisterRule::kExpression) return load(slot, number, caller);
    caller.set(number, slot);
    return Step::kCaller;
  }

  // Rare, and its stack is large: rows without expressions need no room for it.
  [[gnu::noinline]] ExpressionResult evaluate(int32_t at, const uint64_t* pushed,
                                              uint64_t& result) {
    Expression<Memory> expression(file_, memory_);
    if (pushed != nullptr) expression.push(*pushed);
    return expression.evaluate(image_, static_cast<uint32_t>(at), result);
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

}  // namespace sampan::unwind
