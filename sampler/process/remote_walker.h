// Walks the stacks of another process: the walker of the shim (unwind/stack_walk.h), over memory
// and modules that are not ours. One per process. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "attach/process_modules.h"
#include "attach/remote_memory.h"
#include "unwind/registers.h"
#include "unwind/walker.h"

namespace sampan::attach {

class RemoteWalker {
 public:
  explicit RemoteWalker(const ProcessModules& modules);
  ~RemoteWalker();

  // Writes lookup AVMAs, leaf first. All registers are known.
  unwind::WalkResult walk(const unwind::Registers& registers, RemoteMemory& memory,
                          std::span<uint64_t> frames);

  // The same of a thread that waits in the kernel, of which only pc and sp are known (/proc). A
  // frame that needs rbp is helped by the stack itself: where a saved rbp lies beside a return
  // address that follows a call, it is taken for the caller's.
  unwind::WalkResult walk_blocked(uint64_t pc, uint64_t sp, RemoteMemory& memory,
                                  std::span<uint64_t> frames);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sampan::attach
