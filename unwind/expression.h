// DWARF expressions (DWARF 5, 2.5), as far as call frame information uses them: a stack machine
// over registers and memory. `Memory` has `bool read(uint64_t avma, uint64_t& value)`.
//
// Freestanding: linked into the target; async-signal-safe.
#pragma once

#include <cstdint>

#include "unwind/image.h"
#include "unwind/registers.h"

namespace sampan::unwind {

enum class ExpressionResult : uint8_t {
  kOk,
  kDamaged,       // the expression is invalid or uses an unknown operation
  kBadAddress,    // it reads memory that cannot be read
  kLostRegister,  // it uses a register that is not known
};

template <typename Memory>
class Expression {
 public:
  Expression(const RegisterFile& file, Memory& memory) : file_(file), memory_(memory) {}

  // Evaluates the expression (length, operations) at `position` in `image`.
  ExpressionResult evaluate(const Image& image, uint32_t position, uint64_t& result) {
    ImageCursor block = image.cursor(image.start + position);
    const std::span<const uint8_t> operations = block.bytes.take(block.bytes.uleb());
    ByteCursor cursor(operations);
    // Only a backward branch could make this long.
    for (unsigned budget = 256; !cursor.at_end() && status_ == ExpressionResult::kOk; --budget) {
      if (budget == 0) return ExpressionResult::kDamaged;
      run_one(operations, cursor);
    }
    if (status_ == ExpressionResult::kOk && (!block.ok() || !cursor.ok() || size_ == 0)) {
      status_ = ExpressionResult::kDamaged;
    }
    if (status_ == ExpressionResult::kOk) result = stack_[size_ - 1];
    return status_;
  }

  // Below what the expression computes: the CFA, for the rules of registers.
  void push(uint64_t value) {
    if (size_ == kStackSize) {
      fail(ExpressionResult::kDamaged);
    } else {
      stack_[size_++] = value;
    }
  }

 private:
  static constexpr unsigned kStackSize = 12;  // compilers and glibc need at most five

  void fail(ExpressionResult why) {
    if (status_ == ExpressionResult::kOk) status_ = why;
  }
  uint64_t pop() {
    if (size_ == 0) {
      fail(ExpressionResult::kDamaged);
      return 0;
    }
    return stack_[--size_];
  }
  void pick(uint8_t index) {
    if (index >= size_) {
      fail(ExpressionResult::kDamaged);
    } else {
      push(stack_[size_ - 1 - index]);
    }
  }
  void push_register(uint64_t number, int64_t offset) {
    if (!file_.knows(number)) {
      fail(number < kRegisterCount ? ExpressionResult::kLostRegister : ExpressionResult::kDamaged);
      return;
    }
    push(file_.registers.value[number] + static_cast<uint64_t>(offset));
  }
  void dereference(unsigned size) {
    uint64_t value = 0;
    if (size == 0 || size > 8) return fail(ExpressionResult::kDamaged);
    if (!memory_.read(pop(), value)) return fail(ExpressionResult::kBadAddress);
    push(size == 8 ? value : value & ((uint64_t{1} << (8 * size)) - 1));
  }

  void run_one(std::span<const uint8_t> operations, ByteCursor& cursor);
  void run_arithmetic(uint8_t operation, ByteCursor& cursor);

  const RegisterFile& file_;
  Memory& memory_;
  ExpressionResult status_ = ExpressionResult::kOk;
  unsigned size_ = 0;
  uint64_t stack_[kStackSize];
};

// DW_OP_* (DWARF 5, 7.7.1).
template <typename Memory>
void Expression<Memory>::run_one(std::span<const uint8_t> operations, ByteCursor& cursor) {
  const uint8_t operation = cursor.u8();
  if (operation >= 0x30 && operation <= 0x4f) return push(operation - 0x30u);  // lit0..31
  if (operation >= 0x70 && operation <= 0x8f) {                                // breg0..31
    return push_register(operation - 0x70u, cursor.sleb());
  }
  switch (operation) {
    case 0x03:  // addr
    case 0x0e:  // const8u
    case 0x0f:  // const8s
      return push(cursor.u64());
    case 0x06:  // deref
      return dereference(8);
    case 0x94:  // deref_size
      return dereference(cursor.u8());
    case 0x08:  // const1u
      return push(cursor.u8());
    case 0x09:  // const1s
      return push(static_cast<uint64_t>(int64_t{cursor.fixed<int8_t>()}));
    case 0x0a:  // const2u
      return push(cursor.u16());
    case 0x0b:  // const2s
      return push(static_cast<uint64_t>(int64_t{cursor.fixed<int16_t>()}));
    case 0x0c:  // const4u
      return push(cursor.u32());
    case 0x0d:  // const4s
      return push(static_cast<uint64_t>(int64_t{cursor.fixed<int32_t>()}));
    case 0x10:  // constu
      return push(cursor.uleb());
    case 0x11:  // consts
      return push(static_cast<uint64_t>(cursor.sleb()));
    case 0x92: {  // bregx
      const uint64_t number = cursor.uleb();
      return push_register(number, cursor.sleb());
    }
    case 0x28:    // bra
    case 0x2f: {  // skip
      const int64_t distance = cursor.fixed<int16_t>();
      if (operation == 0x28 && pop() == 0) return;
      const int64_t target = static_cast<int64_t>(cursor.offset()) + distance;
      if (!cursor.ok() || target < 0 || target > static_cast<int64_t>(operations.size())) {
        return fail(ExpressionResult::kDamaged);
      }
      cursor = ByteCursor(operations);
      cursor.skip(static_cast<size_t>(target));
      return;
    }
    case 0x96:  // nop
      return;
    default: return run_arithmetic(operation, cursor);
  }
}

template <typename Memory>
void Expression<Memory>::run_arithmetic(uint8_t operation, ByteCursor& cursor) {
  const uint64_t top = pop();
  const auto with_sign = [](uint64_t value) { return static_cast<int64_t>(value); };
  switch (operation) {
    case 0x12:  // dup
      push(top);
      return push(top);
    case 0x13:  // drop
      return;
    case 0x14:  // over
      push(top);
      return pick(1);
    case 0x15:  // pick
      push(top);
      return pick(cursor.u8());
    case 0x19:  // abs
      return push(with_sign(top) < 0 ? 0 - top : top);
    case 0x1f:  // neg
      return push(0 - top);
    case 0x20:  // not
      return push(~top);
    case 0x23:  // plus_uconst
      return push(top + cursor.uleb());
    default: break;
  }
  const uint64_t second = pop();
  switch (operation) {
    case 0x16:  // swap
      push(top);
      return push(second);
    case 0x17: {  // rot
      const uint64_t third = pop();
      push(top);
      push(third);
      return push(second);
    }
    case 0x1a: return push(second & top);
    case 0x1c: return push(second - top);
    case 0x1e: return push(second * top);
    case 0x21: return push(second | top);
    case 0x22: return push(second + top);
    case 0x24:  // shl
      return push(top < 64 ? second << top : 0);
    case 0x25:  // shr
      return push(top < 64 ? second >> top : 0);
    case 0x26:  // shra
      return push(static_cast<uint64_t>(with_sign(second) >> (top < 64 ? top : 63)));
    case 0x27: return push(second ^ top);
    case 0x29: return push(second == top);
    case 0x2a: return push(with_sign(second) >= with_sign(top));
    case 0x2b: return push(with_sign(second) > with_sign(top));
    case 0x2c: return push(with_sign(second) <= with_sign(top));
    case 0x2d: return push(with_sign(second) < with_sign(top));
    case 0x2e: return push(second != top);
    default:  // among them division: it is not used, and it can trap
      return fail(ExpressionResult::kDamaged);
  }
}

}  // namespace sampan::unwind
