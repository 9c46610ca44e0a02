// Leaf functions without unwind information and without a frame of their own, as Go and musl have
// them: the return address is on top of the stack, and rbp is the caller's. By rbp alone a walk
// would go from the leaf to its caller's caller.
#pragma once

#include <sys/types.h>

#include "attach/process_modules.h"
#include "attach/remote_memory.h"
#include "unwind/registers.h"

namespace sampan::attach {

class FramelessLeaf {
 public:
  FramelessLeaf(pid_t pid, const ProcessModules& modules);

  // If `registers` are those of such a function, makes them its caller's, in the midst of the call.
  // Told by the calls before the words that may be its return address, [rsp] and [rbp + 8]: of two
  // functions that begin before the pc the nearer one is the one that contains it.
  bool leave(unwind::Registers& registers, RemoteMemory& stack);

 private:
  uint64_t called_by(uint64_t return_address, uint64_t pc);

  const ProcessModules& modules_;
  RemoteMemory code_;
};

}  // namespace sampan::attach
