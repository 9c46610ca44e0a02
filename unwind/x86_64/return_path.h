// The way from a pc to the return of its function, for code without unwind information: its
// instructions are followed, not executed, to the next `ret`. What they add to the stack pointer
// and restore from the stack is what the caller had. Any way to a return will do, because at each
// instruction of a function the stack is the same, however control came there.
//
//   Memory: see stack_walk.h
//
// What is relied on is the psABI (3.2.1): rbx, rbp and r12 to r15 are the caller's when a function
// returns, and a register that a function copies rsp to, in order to restore it, is not used for
// other things in between. Code written by hand knows which other registers its own functions leave
// alone: one that it uses behind a call, without having set it, was the same before the call. So all
// registers but those of a call's results are taken to be kept.
//
// Freestanding: linked into the target; async-signal-safe. It lives on the walking thread's stack.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "unwind/apply_row.h"
#include "unwind/call_site.h"
#include "unwind/packed_row.h"
#include "unwind/registers.h"
#include "unwind/x86_64/instruction.h"

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

  // From what an address is a constant number of bytes away.
  enum class Base : uint8_t { kNowhere, kOnSp, kOnBp, kOnBx };

  static constexpr RegisterSet kResults = register_bit(kRax) | register_bit(kRdx);
  static constexpr unsigned kMostBranches = 64;
  static constexpr unsigned kSeen = 128, kSeenTogether = 4;

  // The branches of a way, in the order in which it meets them: the first `decided` are taken if
  // their bit is set.
  struct Branches {
    uint64_t taken = 0;
    unsigned decided = 0;
    unsigned met = 0;
  };

  End walk(Branches& branches, uint16_t& left);
  bool first_time_at(uint64_t pc);
  End do_return(int64_t released);
  bool apply(const Instruction& instruction);
  void load(unsigned to, uint64_t avma, Base base);
  PackedRow pack(uint64_t cfa) const;

  bool fetch(uint64_t pc, Instruction& instruction) {
    uint64_t words[2] = {};
    if (!memory_.read_code(pc, words[0])) return false;
    memory_.read_code(pc + 8, words[1]);  // beyond the end of the code: not a part of it
    std::array<uint8_t, 16> code;
    std::memcpy(code.data(), words, sizeof words);
    instruction = decode(code);
    return instruction.operation != Operation::kInvalid;
  }

  static Base base_of(unsigned number) {
    switch (number) {
      case kRsp: return Base::kOnSp;
      case kRbp: return Base::kOnBp;
      case kRbx: return Base::kOnBx;
      default: return Base::kNowhere;
    }
  }
  void begin() {
    now_ = initial_;
    std::memset(bases_, 0, sizeof bases_);
    for (const unsigned number : {kRsp, kRbp, kRbx}) bases_[number] = base_of(number);
    slots_[0] = slots_[1] = {};
    call_sp_ = called_ ? initial(kRsp) : 0;
    frame_down_ = false;
    pushed_low_ = UINT64_MAX;
    pushed_high_ = 0;
    for (Pushed& pushed : pushed_) pushed = {};
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
  const Returns returns_;
  RegisterFile now_{};
  Base bases_[kRegisterCount] = {};
  Slot slots_[2] = {};
  uint16_t seen_[kSeen] = {};  // hashes of branches' addresses, 0 where none is
  uint64_t call_sp_ = 0;       // the highest stack pointer at a call; 0: there was none
  uint64_t pushed_low_ = UINT64_MAX, pushed_high_ = 0;  // slots from the first stack pointer on
  Pushed pushed_[3] = {};    // there: the latest rbp, rbx and other register
  bool frame_down_ = false;  // the last change of the stack pointer was upwards
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
  bool all_stop = true;
  Branches branches;
  while (left > 0) {
    const End end = walk(branches, left);
    if (end == End::kReturn) {
      now_.known &= ~kResults;
      now_.set(kRip, return_address_);
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
  for (uint64_t pc = initial(kRip); left > 0; --left) {
    Instruction instruction;
    if (!fetch(pc, instruction)) return End::kLost;
    const bool new_way = branches.met >= branches.decided;
    const uint64_t next = pc + instruction.length;
    const uint64_t target = next + static_cast<uint64_t>(instruction.displacement);
    switch (instruction.operation) {
      case Operation::kReturn:
      case Operation::kTailCall: return do_return(instruction.displacement);
      // The end of a function that has taken its frame down is a tail call, what is in the midst of
      // one a switch.
      case Operation::kIndirectJump: return frame_down_ ? do_return(0) : End::kStop;
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
    pc = next;
  }
  return End::kLost;
}

// Some bits of the hash say where the others are. An address that has had to make room for newer
// ones is new again: that costs time, which is bounded. Two addresses with one hash would end a way
// early; there are 2^20 hashes.
template <typename Memory>
bool ReturnPath<Memory>::first_time_at(uint64_t pc) {
  constexpr uint64_t kFibonacci = 0x9e37'79b9'7f4a'7c15;
  const uint64_t hash = pc * kFibonacci >> 32;
  const auto mark = static_cast<uint16_t>(hash | 1);
  uint16_t* const marks = seen_ + (hash >> 16) % (kSeen / kSeenTogether) * kSeenTogether;
  for (unsigned i = 0; i < kSeenTogether; ++i) {
    if (marks[i] == mark) return false;
  }
  for (unsigned i = kSeenTogether - 1; i > 0; --i) marks[i] = marks[i - 1];
  marks[0] = mark;
  return true;
}

// False: the path cannot be that of a function.
template <typename Memory>
bool ReturnPath<Memory>::apply(const Instruction& instruction) {
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
      // Of the stack; what else the function loads, it does not restore.
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
void ReturnPath<Memory>::note_push(unsigned number) {
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
void ReturnPath<Memory>::load(unsigned to, uint64_t avma, Base base) {
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
auto ReturnPath<Memory>::do_return(int64_t released) -> End {
  if (!now_.knows(kRsp)) return End::kLost;
  for (const unsigned number : {kRbp, kRbx}) {  // which the fast path of a walk does not doubt
    if (initial_.knows(number) && !now_.knows(number)) return End::kLost;
  }
  const uint64_t slot = value(kRsp);
  if (slot < initial(kRsp) || slot < call_sp_ || (slot == call_sp_ && slot % 16 == 0) ||
      !memory_.read(slot, return_address_)) {
    return End::kLost;
  }
  const bool is_pushed = is_overwritten(slot);
  if (is_pushed) {
    const Pushed* const pushed = pushed_at(slot);
    if (pushed == nullptr) return End::kLost;
    return_address_ = pushed->value;
  }
  met_return_ = true;
  if (!is_return_address(memory_, return_address_)) return End::kNoCall;
  const uint64_t cfa = slot + 8;
  row_ = released == 0 && !is_pushed ? pack(cfa) : PackedRow();
  now_.registers.value[kRsp] = cfa + static_cast<uint64_t>(released);
  return End::kReturn;
}

template <typename Memory>
PackedRow ReturnPath<Memory>::pack(uint64_t cfa) const {
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
