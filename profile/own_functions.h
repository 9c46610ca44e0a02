// The program's own functions in stacks that end in the C and C++ libraries. These say little of a program: who
// allocates is not `operator new`, and who waits is not `std::mutex::lock`.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "profile/profile.h"

namespace sampan::profile {

// The function of the innermost frame of a stack outside the C and C++ libraries, allocators and sampan itself; the
// innermost of all if there is none; kNone without a stack.
uint32_t own_function(const Profile& profile, uint32_t stack);

// own_function() of stacks, each looked at once.
class OwnFunctions {
 public:
  explicit OwnFunctions(const Profile& profile) : profile_(profile) {}
  uint32_t of(uint32_t stack);

 private:
  const Profile& profile_;
  std::unordered_map<uint32_t, uint32_t> known_;
};

}  // namespace sampan::profile
