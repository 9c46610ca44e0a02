// The way from a pc to the return of its function, for code without unwind information: its
// instructions are followed, not executed, to the next return. What they add to the stack pointer
// and restore from the stack is what the caller had. Any way to a return will do, because at each
// instruction of a function the stack is the same, however control came there.
//
//   Memory: see stack_walk.h
//
// Here is the search for such a way; what one way does to the registers is in path_state.h of each
// processor.
//
// Freestanding: linked into the target; async-signal-safe. It lives on the walking thread's stack.
#pragma once

#include <cstdint>

#include "unwind/packed_row.h"
#include "unwind/registers.h"
#include "unwind/step.h"

#if defined(__aarch64__)
#include "unwind/aarch64/path_state.h"
#else
#include "unwind/x86_64/path_state.h"
#endif

namespace sampan::unwind {

// Which returns of a function count: any one, or the first that is reached, whatever lies there.
enum class Returns : bool { kAny, kFirst };

template <typename Memory>
class ReturnPath {
 public:
  // `file`: the registers at a pc. `called`: it is a return address.
  ReturnPath(Memory& memory, const RegisterFile& file, bool called, Returns returns)
      : state_(memory, file, called), returns_(returns) {}

  // Tries ways of at most `left` instructions in all, and takes off what it used. kCaller: `file`
  // are the caller's registers. kNoRule: no way is known to lead to a return, or kRoot: none does.
  // kLostRegister: the stack pointer would be restored from a register that is not known.
  Step follow(uint16_t& left, RegisterFile& file);

  // Whether a return was reached, if only one that does not lead to behind a call in this stack.
  bool met_return() const { return met_return_; }

  // After kCaller: what says the same of the pc; kNone where nothing that fits does.
  PackedRow row() const { return state_.row(); }

 private:
  static constexpr unsigned kMostBranches = 64;
  static constexpr unsigned kSeen = 96, kSeenTogether = 4;

  // The branches of a way, in the order in which it meets them: the first `decided` are taken if
  // their bit is set.
  struct Branches {
    uint64_t taken = 0;
    unsigned decided = 0;
    unsigned met = 0;
  };

  PathEnd walk(Branches& branches, uint16_t& left);
  bool first_time_at(uint64_t pc);

  PathState<Memory> state_;
  const Returns returns_;
  uint16_t seen_[kSeen] = {};  // hashes of branches' addresses, 0 where none is
  bool met_return_ = false;
};

// A search in depth: takes no branch at first, then the last one that was not taken, and so on. A
// way ends where an earlier one has been, so that each instruction is looked at once; only the
// beginning of a way is gone again.
template <typename Memory>
Step ReturnPath<Memory>::follow(uint16_t& left, RegisterFile& file) {
  bool all_stop = true;
  Branches branches;
  while (left > 0) {
    const PathEnd end = walk(branches, left);
    met_return_ = met_return_ || end == PathEnd::kReturn || end == PathEnd::kNoCall;
    if (end == PathEnd::kReturn) {
      file = state_.caller();
      return Step::kCaller;
    }
    if (end == PathEnd::kNoCall && returns_ == Returns::kFirst) break;
    all_stop = all_stop && end != PathEnd::kLost && end != PathEnd::kNoCall;
    unsigned& last = branches.met;
    while (last > 0 && (branches.taken >> (last - 1) & 1) != 0) --last;
    if (last == 0) break;
    const uint64_t bit = uint64_t{1} << (last - 1);
    branches.taken = (branches.taken & (bit - 1)) | bit;
    branches.decided = last;
  }
  if (state_.lost_register()) return Step::kLostRegister;
  return all_stop && left > 0 ? Step::kRoot : Step::kNoRule;
}

template <typename Memory>
PathEnd ReturnPath<Memory>::walk(Branches& branches, uint16_t& left) {
  branches.met = 0;
  for (uint64_t pc = state_.begin(); left > 0; --left) {
    Instruction instruction;
    if (!state_.fetch(pc, instruction)) return PathEnd::kLost;
    const bool new_way = branches.met >= branches.decided;
    switch (instruction.operation) {
      // The end of a function that has taken its frame down is a tail call, what is in the midst of
      // one a switch.
      case Operation::kIndirectJump:
        if (!state_.frame_down()) return PathEnd::kStop;
        [[fallthrough]];
      case Operation::kReturn:
      case Operation::kTailCall: return state_.do_return(instruction);
      case Operation::kStop: return PathEnd::kStop;
      case Operation::kJump:
        if (new_way && !first_time_at(pc)) return PathEnd::kLoop;
        pc = instruction.target(pc);
        continue;
      case Operation::kBranch:
        if (new_way && !first_time_at(pc)) return PathEnd::kLoop;
        if (branches.met < kMostBranches && (branches.taken >> branches.met++ & 1) != 0) {
          pc = instruction.target(pc);
          continue;
        }
        break;
      default:
        if (!state_.apply(instruction)) return PathEnd::kLost;
        break;
    }
    pc += instruction.length;
  }
  return PathEnd::kLost;
}

// Some bits of the hash say where the others are. An address that has had to make room for newer
// ones is new again: that costs time, which is bounded. Two addresses with one hash would end a way
// early; there are 800,000 hashes.
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

}  // namespace sampan::unwind
