// The memory of a thread of which only pc and stack pointer are known, for a walk of it. Where a
// frame cannot be left without rbp, the stack itself helps: the addresses above the stack pointer
// are tried: first the one that the function's own code speaks for, then the nearest. What is left
// on a stack by calls that are over looks much like frames, so candidates are judged: a return
// address must follow a call, best one of this very function, and from there the walk should reach
// the root of the stack.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "attach/process_modules.h"
#include "attach/remote_memory.h"
#include "unwind/stack_walk.h"

namespace sampan::attach {

class BlockedMemory {
 public:
  BlockedMemory(RemoteMemory& memory, const ProcessModules& modules, unwind::WalkCache& cache)
      : memory_(memory), modules_(modules), cache_(cache) {}

  // The concept of unwind/stack_walk.h.
  bool covers(uint64_t low, uint64_t high) const { return memory_.covers(low, high); }
  uint64_t load(uint64_t avma) const { return memory_.load(avma); }
  bool read(uint64_t avma, uint64_t& value) { return memory_.read(avma, value); }
  bool readable(uint64_t avma) { return memory_.readable(avma); }
  unwind::Step recover(const unwind::Lost& lost, unwind::RegisterFile& file);

 private:
  // What the call before a return address calls: this function?
  enum class Fit { kNoCall, kOther, kUnknown, kSame };

  unwind::Step recover_by_row(const unwind::Lost& lost, unwind::RegisterFile& file);
  unwind::Step recover_without_row(uint64_t pc, unwind::RegisterFile& file);
  Fit judge(uint64_t return_address, uint64_t function);
  // Frames from there to the root; 0 when it does not lead there.
  uint32_t frames_to_root(const unwind::RegisterFile& caller);

  RemoteMemory& memory_;
  const ProcessModules& modules_;
  unwind::WalkCache& cache_;
  // A trial is a walk that may meet another frame of this kind, and so on: a bound on all of it.
  unsigned trials_left_ = 400;
  unsigned depth_ = 0;                                       // of trials within trials
  std::map<std::pair<uint64_t, uint64_t>, uint32_t> tried_;  // by rsp and rbp
};

}  // namespace sampan::attach
