// How long a thread is away from its work when something interrupts it, seen by the thread itself:
// it reads a clock in a loop, and what lies between two readings is a gap. So it is known what an
// interrupt costs where no other clock would tell: on a virtual machine it may be fifty times what
// it is on a real one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sampan::sampler {

// Works for so long. Returns the gaps, the longest first.
std::vector<uint64_t> gaps(uint64_t for_ns);

// The median of the `count` longest, which are taken to be those of `count` interrupts; 0 without
// any.
uint64_t median_of_longest(const std::vector<uint64_t>& gaps, size_t count);

}  // namespace sampan::sampler
