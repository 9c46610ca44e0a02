// The registers along a way through a function's instructions (return_path.h).
//
// This relies on the procedure call standard (AAPCS64, 6.1.1): x19 to x29 and sp are the caller's
// when a function returns. A call takes x30, the link register, away: where a way has met one, the return
// address comes from the stack. Code written by hand knows which other registers its own functions leave
// alone: all but those of a call's results are taken to be kept.
//
// Freestanding: linked into the target; async-signal-safe.
#pragma once

#include <cstdint>

#include "unwind/aarch64/instruction.h"
#include "unwind/call_site.h"
#include "unwind/packed_row.h"
#include "unwind/registers.h"
#include "unwind/step.h"

namespace sampan::unwind {

template <typename Memory>
class PathState {
 public:
  // `initial`: the registers at the way's first pc. `called`: it is a return address.
  PathState(Memory& memory, const RegisterFile& initial, bool called)
      : memory_(memory), initial_(initial), called_(called) {}

  // Another way. Returns its first pc.
  uint64_t begin() {
    now_ = initial_;
    if (called_) forget(kLr);
    for (unsigned i = 0; i < 2; ++i) stored_[i] = {}, slots_[i] = 0;
    sp_from_fp_ = frame_down_ = false;
    return initial(kPc);
  }

  // False: there is no code that is known.
  bool fetch(uint64_t pc, Instruction& instruction) {
    uint64_t code = 0;
    if (!initial_.knows(kSp) || !memory_.read_code(pc & ~uint64_t{7}, code)) return false;
    instruction = decode(static_cast<uint32_t>(code >> (pc % 8 * 8)));  // never across a page
    return instruction.operation != Operation::kInvalid;
  }

  // False: the path cannot be that of a function.
  bool apply(const Instruction& instruction);

  // kReturn: caller() and row() are known now.
  PathEnd do_return(const Instruction& instruction);

  const RegisterFile& caller() const { return now_; }
  PackedRow row() const { return row_; }

  // The last change of the stack pointer was upwards.
  bool frame_down() const { return frame_down_; }

  // A way would have restored the stack pointer from a register that is not known.
  bool lost_register() const { return lost_register_; }

 private:
  static constexpr RegisterSet kResults = register_bit(0) | register_bit(1);

  // x29 or x30 as it was stored on the way, and where; `slot` is where it came from before.
  struct Stored {
    uint64_t avma = 0, value = 0, slot = 0;
    bool known = false;
  };

  void load(unsigned to, uint64_t avma);
  void store(unsigned from, uint64_t avma);
  PackedRow pack() const;

  void forget(unsigned number) { now_.known &= ~register_bit(number); }
  void set(unsigned number, uint64_t value, uint64_t slot) {
    now_.set(number, value);
    if (is_kept(number)) slots_[number - kFp] = slot;
  }
  // The registers whose slots a row has.
  static constexpr bool is_kept(unsigned number) { return number == kFp || number == kLr; }
  uint64_t value(unsigned number) const { return now_.registers.value[number]; }
  uint64_t initial(unsigned number) const { return initial_.registers.value[number]; }

  Memory& memory_;
  const RegisterFile& initial_;
  const bool called_;
  RegisterFile now_{};
  uint64_t slots_[2] = {};  // of x29 and x30: where they were loaded from; 0: they were not
  Stored stored_[2];
  bool sp_from_fp_ = false;  // the stack pointer was made from x29
  bool frame_down_ = false;
  bool lost_register_ = false;
  PackedRow row_;
};

template <typename Memory>
bool PathState<Memory>::apply(const Instruction& instruction) {
  const unsigned to = instruction.to, base = instruction.base;
  const auto plus = [](int64_t number) { return static_cast<uint64_t>(number); };
  switch (instruction.operation) {
    case Operation::kAddress:
      if (!now_.knows(base)) {
        lost_register_ = lost_register_ || to == kSp;
        if (to == kSp) return false;
        forget(to);
        return true;
      }
      if (to == kSp) {
        frame_down_ = value(base) + plus(instruction.displacement) > value(kSp);
        if (base != kSp) sp_from_fp_ = base == kFp;
      }
      set(to, value(base) + plus(instruction.displacement), 0);
      return true;
    case Operation::kCall: now_.known &= ~(kResults | register_bit(kLr)); return true;
    default: break;
  }
  if (base == kSp && instruction.before != 0) {
    frame_down_ = instruction.before > 0;
    now_.registers.value[kSp] += plus(instruction.before);
  }
  const uint64_t avma = now_.knows(base) ? value(base) + plus(instruction.displacement) : 0;
  switch (instruction.operation) {
    case Operation::kStore:
      store(to, avma);
      store(instruction.second, avma + 8);
      break;
    case Operation::kLoad:
      // A function restores registers from the stack only.
      load(to, base == kSp || base == kFp ? avma : 0);
      load(instruction.second, base == kSp || base == kFp ? avma + 8 : 0);
      break;
    default:
      if (to == kSp) return false;
      if (to < kRegisterCount) forget(to);
      if (instruction.second < kRegisterCount) forget(instruction.second);
  }
  if (base == kSp && instruction.after != 0) {
    frame_down_ = instruction.after > 0;
    now_.registers.value[kSp] += plus(instruction.after);
  } else if (base < kSp && instruction.before + instruction.after != 0) {
    forget(base);
  }
  return true;
}

template <typename Memory>
void PathState<Memory>::store(unsigned from, uint64_t avma) {
  if (!is_kept(from) || avma == 0) return;
  const unsigned index = from - kFp;
  stored_[index] = {avma, value(from), slots_[index], now_.knows(from)};
}

// What lies below the first stack pointer was written on the way: a register that the function
// saves there is still the caller's. Above it are the registers that it has saved before.
template <typename Memory>
void PathState<Memory>::load(unsigned to, uint64_t avma) {
  if (to >= kRegisterCount) return;
  forget(to);
  uint64_t word = 0;
  if (avma == 0) return;
  if (is_kept(to) && stored_[to - kFp].avma == avma) {
    const Stored& stored = stored_[to - kFp];
    if (stored.known) set(to, stored.value, stored.slot);
  } else if (avma < initial(kSp)) {
    if (!is_kept(to) && initial_.knows(to)) now_.set(to, initial(to));
  } else if (memory_.read(avma, word)) {
    set(to, word, avma);
  }
}

// A function cannot return from below the first stack pointer, nor, if it has called, from there.
template <typename Memory>
PathEnd PathState<Memory>::do_return(const Instruction& instruction) {
  const unsigned by = instruction.operation == Operation::kReturn ? instruction.base : kLr;
  if (!now_.knows(by) || (initial_.knows(kFp) && !now_.knows(kFp))) return PathEnd::kLost;
  if (value(kSp) < initial(kSp) || (called_ && value(kSp) == initial(kSp))) return PathEnd::kLost;
  const uint64_t return_address = without_signature(value(by));
  if (!is_return_address(memory_, return_address)) return PathEnd::kNoCall;
  row_ = by == kLr ? pack() : PackedRow();
  now_.known &= ~kResults;
  now_.set(kLr, return_address);
  now_.set(kPc, return_address);
  return PathEnd::kReturn;
}

template <typename Memory>
PackedRow PathState<Memory>::pack() const {
  const uint64_t cfa = value(kSp), base = initial(sp_from_fp_ ? kFp : kSp);
  uint64_t units[2] = {};
  for (unsigned i = 0; i < 2; ++i) {
    if (slots_[i] == 0) {  // not restored: it must be what it was
      if (value(kFp + i) != initial(kFp + i)) return {};
      continue;
    }
    if (slots_[i] >= cfa || (cfa - slots_[i]) % 8 != 0) return {};
    units[i] = (cfa - slots_[i]) / 8;
  }
  if (cfa < base || (cfa - base) % 8 != 0) return {};
  return PackedRow::pack(sp_from_fp_ ? PackedRow::kFromFp : PackedRow::kFromSp, (cfa - base) / 8,
                         units[0], units[1]);
}

}  // namespace sampan::unwind
