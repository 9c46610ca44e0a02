// The memory of a thread whose pc and stack pointer alone are known, for a walk of its stack. When
// a frame cannot be left without the frame pointer, this tries addresses above the stack pointer as
// its values: first the one that the function's code suggests, then the nearest. Calls that have returned
// leave words on the stack that look like frames, so candidates are judged: a return address must
// follow a call, preferably of this function, and the walk from there should reach the root.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "sampler/process/process_modules.h"
#include "sampler/process/remote_memory.h"
#include "unwind/stack_walk.h"

namespace sampan::sampler {

class BlockedMemory {
 public:
  BlockedMemory(RemoteMemory& memory, const ProcessModules& modules, unwind::WalkCache& cache)
      : memory_(memory), modules_(modules), cache_(cache) {}

  // The concept of unwind/stack_walk.h.
  bool covers(uint64_t low, uint64_t high) const { return memory_.covers(low, high); }
  uint64_t load(uint64_t avma) const { return memory_.load(avma); }
  bool read(uint64_t avma, uint64_t& value) { return memory_.read(avma, value); }
  bool read_code(uint64_t avma, uint64_t& value) { return memory_.read(avma, value); }
  static constexpr bool may_read_code() { return true; }
  bool readable(uint64_t avma) { return memory_.readable(avma); }
  unwind::Step recover(const unwind::Lost& lost, unwind::RegisterFile& file);

 private:
  // Whether the call before a return address calls this function.
  enum class Fit { kNoCall, kOther, kUnknown, kSame };

  unwind::Step recover_by_row(const unwind::Lost& lost, unwind::RegisterFile& file);
  unwind::Step recover_without_row(uint64_t pc, unwind::RegisterFile& file);
  Fit judge(uint64_t return_address, uint64_t function);
  // Frames from there to the root; 0 when the walk does not reach it.
  uint32_t frames_to_root(const unwind::RegisterFile& caller);

  RemoteMemory& memory_;
  const ProcessModules& modules_;
  unwind::WalkCache& cache_;
  // A trial is a walk that may meet another frame of this kind, and so on: this bounds all of it.
  unsigned trials_left_ = 400;
  unsigned depth_ = 0;                                       // of trials within trials
  std::map<std::pair<uint64_t, uint64_t>, uint32_t> tried_;  // by stack and frame pointer
};

}  // namespace sampan::sampler
