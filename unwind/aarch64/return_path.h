// The way from a pc to the return of its function, for code without unwind information: its
// instructions are followed, not executed, to the next `ret`. What they add to the stack pointer
// and restore from the stack is what the caller had. Any way to a return will do, because at each
// instruction of a function the stack is the same, however control came there.
//
//   Memory: see stack_walk.h
//
// What is relied on is the procedure call standard (AAPCS64, 6.1.1): x19 to x29 and sp are the caller's
// when a function returns. A call takes x30, the link register, away: where a way has met one, the return
// address comes from the stack. Code written by hand knows which other registers its own functions leave
// alone: all but those of a call's results are taken to be kept.
//
// Freestanding: linked into the target; async-signal-safe. It lives on the walking thread's stack.
#pragma once

#include <cstdint>

#include "unwind/aarch64/instruction.h"
#include "unwind/call_site.h"
#include "unwind/packed_row.h"
#include "unwind/registers.h"
#include "unwind/step.h"

namespace sampan::unwind {

// Which returns of a function count: any one, or the first that is reached, whatever lies there.
enum class Returns : bool { kAny, kFirst };

template <typename Memory>
class ReturnPath {
 public:
  // `file`: the registers at a pc. `called`: it is a return address.
  ReturnPath(Memory& memory, const RegisterFile& file, bool called, Returns returns)
      : memory_(memory), initial_(file), called_(called), returns_(returns) {}

  // Tries ways of at most `left` instructions in all, and takes off what it used. kCaller: `file`
  // are the caller's registers. kNoRule: no way is known to lead to a return, or kRoot: none does.
  // kLostRegister: the stack pointer would be restored from a register that is not known.
  Step follow(uint16_t& left, RegisterFile& file);

  // Whether a return was reached, if only one that does not lead to behind a call in this stack.
  bool met_return() const { return met_return_; }

  // After kCaller: what says the same of the pc; kNone where nothing that fits does.
  PackedRow row() const { return row_; }

 private:
  // kStop: nothing follows. kLoop: to where an earlier way has been. kNoCall: to a return, but not to
  // behind a call. kLost: to what is no code of this function.
  enum class End : uint8_t { kReturn, kStop, kLoop, kNoCall, kLost };

  static constexpr unsigned kMostBranches = 64, kSeen = 64;
  static constexpr RegisterSet kResults = register_bit(0) | register_bit(1);

  // The branches of a way, in the order in which it meets them: the first `decided` are taken if
  // their bit is set.
  struct Branches {
    uint64_t taken = 0;
    unsigned decided = 0;
    unsigned met = 0;
  };
  // x29 or x30 as it was stored on the way, and where; `slot` is where it came from before.
  struct Stored {
    uint64_t avma = 0, value = 0, slot = 0;
    bool known = false;
  };

  End walk(Branches& branches, uint16_t& left);
  bool first_time_at(uint64_t pc);
  bool apply(const Instruction& instruction);
  void load(unsigned to, uint64_t avma);
  void store(unsigned from, uint64_t avma);
  End do_return(unsigned by);
  PackedRow pack() const;

  void begin() {
    now_ = initial_;
    if (called_) forget(kLr);
    for (unsigned i = 0; i < 2; ++i) stored_[i] = {}, slots_[i] = 0;
    sp_from_fp_ = frame_down_ = false;
  }
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
  const Returns returns_;
  RegisterFile now_{};
  uint64_t slots_[2] = {};  // of x29 and x30: where they were loaded from; 0: they were not
  Stored stored_[2];
  uint32_t seen_[kSeen] = {};  // addresses of branches, as their distances; 0 where none is
  bool sp_from_fp_ = false;    // the stack pointer was made from x29
  bool frame_down_ = false;    // the last change of the stack pointer was upwards
  bool lost_register_ = false;
  bool met_return_ = false;
  uint64_t return_address_ = 0;
  PackedRow row_;
};

// A search in depth: takes no branch at first, then the last one that was not taken, and so on. A
// way ends where an earlier one has been, so that each instruction is looked at once; only the
// beginning of a way is gone again.
template <typename Memory>
Step ReturnPath<Memory>::follow(uint16_t& left, RegisterFile& file) {
  if (!initial_.knows(kSp)) return Step::kNoRule;
  bool all_stop = true;
  Branches branches;
  while (left > 0) {
    const End end = walk(branches, left);
    if (end == End::kReturn) {
      now_.known &= ~kResults;
      now_.set(kLr, return_address_);
      now_.set(kPc, return_address_);
      file = now_;
      return Step::kCaller;
    }
    if (end == End::kNoCall && returns_ == Returns::kFirst) break;
    all_stop = all_stop && end != End::kLost && end != End::kNoCall;
    unsigned& last = branches.met;
    while (last > 0 && (branches.taken >> (last - 1) & 1) != 0) --last;
    if (last == 0) break;
    const uint64_t bit = uint64_t{1} << (last - 1);
    branches.taken = (branches.taken & (bit - 1)) | bit;
    branches.decided = last;
  }
  if (lost_register_) return Step::kLostRegister;
  return all_stop && left > 0 ? Step::kRoot : Step::kNoRule;
}

template <typename Memory>
auto ReturnPath<Memory>::walk(Branches& branches, uint16_t& left) -> End {
  begin();
  branches.met = 0;
  for (uint64_t pc = initial(kPc); left > 0; --left) {
    uint64_t code = 0;
    if (!memory_.read_code(pc & ~uint64_t{7}, code)) return End::kLost;  // never across a page
    const Instruction instruction = decode(static_cast<uint32_t>(code >> (pc % 8 * 8)));
    const bool new_way = branches.met >= branches.decided;
    const uint64_t target = pc + static_cast<uint64_t>(instruction.displacement);
    switch (instruction.operation) {
      case Operation::kInvalid: return End::kLost;
      case Operation::kReturn: return do_return(instruction.base);
      case Operation::kTailCall: return do_return(kLr);
      // The end of a function that has taken its frame down is a tail call, what is in the midst of
      // one a switch.
      case Operation::kIndirectJump: return frame_down_ ? do_return(kLr) : End::kStop;
      case Operation::kStop: return End::kStop;
      case Operation::kJump:
        if (new_way && !first_time_at(pc)) return End::kLoop;
        pc = target;
        continue;
      case Operation::kBranch:
        if (new_way && !first_time_at(pc)) return End::kLoop;
        if (branches.met < kMostBranches && (branches.taken >> branches.met++ & 1) != 0) {
          pc = target;
          continue;
        }
        break;
      default:
        if (!apply(instruction)) return End::kLost;
        break;
    }
    pc += kInstructionLength;
  }
  return End::kLost;
}

// An address that has had to make room for a newer one is new again: that costs time, which is bounded.
template <typename Memory>
bool ReturnPath<Memory>::first_time_at(uint64_t pc) {
  const auto mark = static_cast<uint32_t>((pc - initial(kPc)) / kInstructionLength) | uint32_t{1}
                                                                                          << 31;
  uint32_t& seen = seen_[pc / kInstructionLength % kSeen];
  if (seen == mark) return false;
  seen = mark;
  return true;
}

// False: the path cannot be that of a function.
template <typename Memory>
bool ReturnPath<Memory>::apply(const Instruction& instruction) {
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
      // Of the stack; what else the function loads, it does not restore.
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
void ReturnPath<Memory>::store(unsigned from, uint64_t avma) {
  if (!is_kept(from) || avma == 0) return;
  const unsigned index = from - kFp;
  stored_[index] = {avma, value(from), slots_[index], now_.knows(from)};
}

// What lies below the first stack pointer was written on the way: a register that the function
// saves there is still the caller's. Above it are the registers that it has saved before.
template <typename Memory>
void ReturnPath<Memory>::load(unsigned to, uint64_t avma) {
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
auto ReturnPath<Memory>::do_return(unsigned by) -> End {
  if (!now_.knows(by) || (initial_.knows(kFp) && !now_.knows(kFp))) return End::kLost;
  if (value(kSp) < initial(kSp) || (called_ && value(kSp) == initial(kSp))) return End::kLost;
  met_return_ = true;
  return_address_ = without_signature(value(by));
  if (!is_return_address(memory_, return_address_)) return End::kNoCall;
  row_ = by == kLr ? pack() : PackedRow();
  return End::kReturn;
}

template <typename Memory>
PackedRow ReturnPath<Memory>::pack() const {
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
