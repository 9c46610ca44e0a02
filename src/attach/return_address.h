// The call before a return address, read from the code: what is a return address at all, and what
// it was that was called.
//
// Encodings: Intel SDM volume 2, "CALL".
#pragma once

#include <cstdint>
#include <optional>

#include "attach/remote_memory.h"

namespace sampan::attach {

struct CallBefore {
  uint64_t target;  // AVMA of what is called, through a stub of the PLT too; 0: not known
};

// Nothing when no call ends at `return_address`.
std::optional<CallBefore> call_before(RemoteMemory& memory, uint64_t return_address);

}  // namespace sampan::attach
