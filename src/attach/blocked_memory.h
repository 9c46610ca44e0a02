// The memory of a thread of which only pc and stack pointer are known, for a walk of it. Where a
// frame cannot be left without rbp, the stack itself helps: rbp is an address on it, so those above
// the stack pointer are tried, the nearest first. What is left on a stack by calls that are over
// looks much like frames, so candidates are judged: a return address must follow a call, best one
// of this very function, and from there the walk should reach the root of the stack.
#pragma once

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
  bool recover(const unwind::Lost& lost, unwind::RegisterFile& file);

 private:
  // What the call before a return address calls: this function?
  enum class Fit { kNoCall, kOther, kUnknown, kSame };

  bool recover_by_row(const unwind::Lost& lost, unwind::RegisterFile& file);
  bool recover_without_row(const unwind::Lost& lost, unwind::RegisterFile& file);
  bool reaches_root(const unwind::RegisterFile& caller);
  Fit judge(uint64_t return_address, uint64_t low, uint64_t high);

  RemoteMemory& memory_;
  const ProcessModules& modules_;
  unwind::WalkCache& cache_;
};

}  // namespace sampan::attach
