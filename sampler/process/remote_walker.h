// Walks the stacks of another process with the shim's walker (unwind/stack_walk.h). One per
// process. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/address.h"
#include "sampler/process/process_modules.h"
#include "sampler/process/remote_memory.h"
#include "unwind/registers.h"
#include "unwind/walker.h"

namespace sampan::sampler {

class RemoteWalker {
 public:
  explicit RemoteWalker(const ProcessModules& modules);
  ~RemoteWalker();

  // Writes lookup AVMAs, leaf first. All registers are known. `cfas`: null, or room for the CFA of
  // each of the frames.
  unwind::WalkResult walk(const unwind::Registers& registers, RemoteMemory& memory,
                          std::span<uint64_t> frames, uint64_t* cfas = nullptr);

  // The same for a thread that waits in the kernel, whose pc and sp alone are known (/proc). For a
  // frame that needs rbp, see blocked_memory.h.
  unwind::WalkResult walk_blocked(Avma pc, Avma sp, RemoteMemory& memory,
                                  std::span<uint64_t> frames, uint64_t* cfas = nullptr);

  // How many rules of tables the code has overruled since the last call.
  uint32_t take_overruled();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sampan::sampler
