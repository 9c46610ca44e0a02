// The result of a step from a frame to its caller.
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

}  // namespace sampan::unwind
