// The result of a step from a frame to its caller, and of a way to its function's return.
//
// Freestanding: linked into the target.
#pragma once

#include <cstdint>

namespace sampan::unwind {

enum class Step : uint8_t {
  kCaller,        // the registers are the caller's now
  kRoot,          // there is no caller
  kNoRule,        // nothing says how to continue
  kBadAddress,    // a slot that cannot be read
  kDamaged,       // invalid unwind information
  kNoProgress,    // the caller's frame is not above this one
  kLostRegister,  // a register is needed that was not followed so far
  kUnloading,     // modules must not be read now
  kTooMuchWork,   // the walk has searched as many tables as it may
  kNoCall,        // the frame pointer leads to what is no return address
};

// How a way through a function's instructions (return_path.h) ends.
enum class PathEnd : uint8_t {
  kReturn,
  kStop,    // nothing follows
  kLoop,    // where an earlier way has been
  kNoCall,  // at a return, but not to behind a call
  kLost,    // at what is no code of this function
};

}  // namespace sampan::unwind
