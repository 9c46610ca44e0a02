// The registers along a way through a function's instructions (return_path.h).
//
// This relies on the psABI (3.2.1): rbx, rbp and r12 to r15 are the caller's when a function
// returns, and a register that a function copies rsp to, in order to restore it, is not used for
// other things in between. Code written by hand knows which other registers its own functions leave
// alone: one that it uses behind a call, without having set it, was the same before the call. So all
// registers but those of a call's results are taken to be kept.
//
// Freestanding: linked into the target; async-signal-safe.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "unwind/apply_row.h"
#include "unwind/call_site.h"
#include "unwind/packed_row.h"
#include "unwind/registers.h"
#include "unwind/step.h"
#include "unwind/x86_64/instruction.h"

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
    std::memset(bases_, 0, sizeof bases_);
    for (const unsigned number : {kRsp, kRbp, kRbx}) bases_[number] = base_of(number);
    slots_[0] = slots_[1] = {};
    call_sp_ = called_ ? initial(kRsp) : 0;
    frame_down_ = false;
    pushed_low_ = UINT64_MAX;
    pushed_high_ = 0;
    for (Pushed& pushed : pushed_) pushed = {};
    return initial(kRip);
  }

  // False: there is no code that is known.
  bool fetch(uint64_t pc, Instruction& instruction) {
    uint64_t words[2] = {};
    if (!memory_.read_code(pc, words[0])) return false;
    memory_.read_code(pc + 8, words[1]);  // beyond the end of the code: not a part of it
    const auto* const bytes = reinterpret_cast<const uint8_t*>(words);
    instruction = decode(std::span<const uint8_t, sizeof words>(bytes, sizeof words));
    return instruction.operation != Operation::kInvalid;
  }

  // False: the path cannot be that of a function.
  bool apply(const Instruction& instruction);

  // kReturn: caller() and row() are known now.
  PathEnd do_return(const Instruction& instruction) {
    return release(instruction.operation == Operation::kReturn ? instruction.displacement : 0);
  }

  const RegisterFile& caller() const { return now_; }
  PackedRow row() const { return row_; }

  // The last change of the stack pointer was upwards.
  bool frame_down() const { return frame_down_; }

  // A way would have restored the stack pointer from a register that is not known.
  bool lost_register() const { return lost_register_; }

 private:
  // From what an address is a constant number of bytes away.
  enum class Base : uint8_t { kNowhere, kOnSp, kOnBp, kOnBx };

  static constexpr RegisterSet kResults = register_bit(kRax) | register_bit(kRdx);

  PathEnd release(int64_t arguments);  // in bytes
  void load(unsigned to, uint64_t avma, Base base);
  PackedRow pack(uint64_t cfa) const;

  static Base base_of(unsigned number) {
    switch (number) {
      case kRsp: return Base::kOnSp;
      case kRbp: return Base::kOnBp;
      case kRbx: return Base::kOnBx;
      default: return Base::kNowhere;
    }
  }
  // On the way something was pushed there. What lies below the first stack pointer is another matter:
  // see load().
  bool is_overwritten(uint64_t avma) const { return avma >= pushed_low_ && avma <= pushed_high_; }
  void set(unsigned number, uint64_t value, Base base) {
    now_.set(number, value);
    bases_[number] = base;
    if (Slot* slot = slot_of(number)) *slot = {};
  }
  void forget(unsigned number) {
    now_.known &= ~register_bit(number);
    bases_[number] = Base::kNowhere;
  }
  uint64_t value(unsigned number) const { return now_.registers.value[number]; }
  uint64_t initial(unsigned number) const { return initial_.registers.value[number]; }

  // Where the caller's rbp or rbx was restored from.
  struct Slot {
    uint64_t avma;
    Base base;
  };
  Slot* slot_of(unsigned number) {
    return number == kRbp ? &slots_[0] : number == kRbx ? &slots_[1] : nullptr;
  }
  // A register that was pushed, and what it was then.
  struct Pushed {
    uint64_t avma = 0;
    unsigned number = 0;
    bool known = false;
    Base base = Base::kNowhere;
    uint64_t value = 0;
    Slot slot = {};
  };
  void note_push(unsigned number);
  // Null: it is not known what was pushed there.
  const Pushed* pushed_at(uint64_t avma) const {
    for (const Pushed& pushed : pushed_) {
      if (pushed.avma == avma && pushed.known) return &pushed;
    }
    return nullptr;
  }

  Memory& memory_;
  const RegisterFile& initial_;
  const bool called_;
  RegisterFile now_{};
  Base bases_[kRegisterCount] = {};
  Slot slots_[2] = {};
  uint64_t call_sp_ = 0;  // the highest stack pointer at a call; 0: there was none
  uint64_t pushed_low_ = UINT64_MAX, pushed_high_ = 0;  // slots from the first stack pointer on
  Pushed pushed_[3] = {};  // there: the latest rbp, rbx and other register
  bool frame_down_ = false;
  bool lost_register_ = false;
  PackedRow row_;
};

template <typename Memory>
bool PathState<Memory>::apply(const Instruction& instruction) {
  const unsigned to = instruction.to, from = instruction.base;
  const auto distance = static_cast<uint64_t>(instruction.displacement);
  switch (instruction.operation) {
    case Operation::kPush:
      now_.registers.value[kRsp] -= 8;
      note_push(from);
      frame_down_ = false;
      return true;
    case Operation::kPop:
      if (!now_.knows(kRsp) || to == kRsp) return false;
      if (to != Instruction::kNoRegister) load(to, value(kRsp), bases_[kRsp]);
      now_.registers.value[kRsp] += 8;
      frame_down_ = true;
      return true;
    case Operation::kMove:
    case Operation::kAddress:
      if (to == kRsp) frame_down_ = value(from) + distance > value(kRsp);
      if (now_.knows(from)) {
        set(to, value(from) + distance, bases_[from]);
      } else {
        lost_register_ = lost_register_ || to == kRsp;
        forget(to);
      }
      return true;
    case Operation::kLoad:
      // A function restores registers from the stack only.
      if (now_.knows(from) && (from == kRsp || from == kRbp || to == kRsp)) {
        load(to, value(from) + distance, bases_[from]);
      } else {
        forget(to);
      }
      return true;
    case Operation::kAlign: set(kRsp, value(kRsp) & distance, Base::kNowhere); return true;
    case Operation::kSetsSp: forget(kRsp); return true;
    case Operation::kLeave:
      if (!now_.knows(kRbp)) return false;
      set(kRsp, value(kRbp), bases_[kRbp]);
      load(kRbp, value(kRsp), bases_[kRsp]);
      now_.registers.value[kRsp] += 8;
      frame_down_ = true;
      return true;
    case Operation::kCall:
      if (!now_.knows(kRsp)) return false;
      if (value(kRsp) > call_sp_) call_sp_ = value(kRsp);
      for (const unsigned number : {kRax, kRdx}) forget(number);
      return true;
    default: return true;
  }
}

template <typename Memory>
void PathState<Memory>::note_push(unsigned number) {
  const uint64_t avma = value(kRsp);
  if (avma < initial(kRsp)) return;
  pushed_low_ = std::min(pushed_low_, avma);
  pushed_high_ = std::max(pushed_high_, avma);
  for (Pushed& pushed : pushed_) {
    if (pushed.avma == avma) pushed = {};
  }
  if (number >= kRegisterCount) return;
  Pushed& pushed = pushed_[number == kRbp ? 0 : number == kRbx ? 1 : 2];
  pushed = {avma, number, now_.knows(number), bases_[number], value(number)};
  if (const Slot* slot = slot_of(number)) pushed.slot = *slot;
}

// What lies below the first stack pointer was written on the way: a register that the function
// saves there is still the caller's. Above it are the registers that a function saves to which this
// one has jumped.
template <typename Memory>
void PathState<Memory>::load(unsigned to, uint64_t avma, Base base) {
  uint64_t word = 0;
  if (avma < initial(kRsp)) {
    forget(to);
    if (initial_.knows(to) && to != kRsp) set(to, initial(to), base_of(to));
  } else if (is_overwritten(avma)) {
    const Pushed* const pushed = pushed_at(avma);
    forget(to);
    if (pushed == nullptr) return;
    set(to, pushed->value, pushed->base);
    if (Slot* slot = slot_of(to); slot != nullptr && to == pushed->number) *slot = pushed->slot;
  } else if (memory_.read(avma, word)) {
    set(to, word, Base::kNowhere);
    if (Slot* slot = slot_of(to)) *slot = {avma, base};
  } else {
    forget(to);
  }
}

// A function cannot return from below the first stack pointer, nor to where no call stands. Where
// it drops arguments that lie behind the return address, it has pushed that again. At its
// calls the stack pointer is aligned, and so below the return address (3.2.2): otherwise a call
// does not return, and what follows is another function. Functions by hand may call others of their
// own without that; then it is not aligned.
template <typename Memory>
PathEnd PathState<Memory>::release(int64_t arguments) {
  if (!now_.knows(kRsp)) return PathEnd::kLost;
  for (const unsigned number : {kRbp, kRbx}) {  // which the fast path of a walk does not doubt
    if (initial_.knows(number) && !now_.knows(number)) return PathEnd::kLost;
  }
  const uint64_t slot = value(kRsp);
  uint64_t return_address = 0;
  if (slot < initial(kRsp) || slot < call_sp_ || (slot == call_sp_ && slot % 16 == 0) ||
      !memory_.read(slot, return_address)) {
    return PathEnd::kLost;
  }
  const bool is_pushed = is_overwritten(slot);
  if (is_pushed) {
    const Pushed* const pushed = pushed_at(slot);
    if (pushed == nullptr) return PathEnd::kLost;
    return_address = pushed->value;
  }
  if (!is_return_address(memory_, return_address)) return PathEnd::kNoCall;
  const uint64_t cfa = slot + 8;
  row_ = arguments == 0 && !is_pushed ? pack(cfa) : PackedRow();
  now_.known &= ~kResults;
  now_.registers.value[kRsp] = cfa + static_cast<uint64_t>(arguments);
  now_.set(kRip, return_address);
  return PathEnd::kReturn;
}

template <typename Memory>
PackedRow PathState<Memory>::pack(uint64_t cfa) const {
  const Base base = bases_[kRsp];
  if (base == Base::kNowhere) return {};
  const unsigned number = base == Base::kOnSp ? kRsp : base == Base::kOnBp ? kRbp : kRbx;
  uint64_t units[2] = {};
  for (unsigned i = 0; i < 2; ++i) {
    const unsigned saved = i == 0 ? kRbp : kRbx;
    const Slot& slot = slots_[i];
    if (slot.base == Base::kNowhere) {  // not restored: it must be what it was
      if (bases_[saved] != base_of(saved) || value(saved) != initial(saved)) return {};
      continue;
    }
    if (slot.base != base || slot.avma >= cfa || (cfa - slot.avma) % 8 != 0) return {};
    units[i] = (cfa - slot.avma) / 8;
  }
  const uint64_t offset = cfa - initial(number);
  if (offset % 8 != 0) return {};
  const PackedRow::Kind kind = base == Base::kOnSp   ? PackedRow::kFromSp
                               : base == Base::kOnBp ? PackedRow::kFromFp
                                                     : PackedRow::kFromOther;
  return PackedRow::pack(kind, offset / 8, units[0], units[1]);
}

}  // namespace sampan::unwind
