// Recursion that is deeper than what is recorded of a stack.
//
//   deep FRAMES CPU_SECONDS
//
// `outermost` calls `recurse` FRAMES times in itself, and that `innermost`, which uses the CPU.
#include <cstdlib>

#include "work.h"

extern "C" __attribute__((noinline)) uint64_t innermost(double seconds) {
  const uint64_t value = work::burn(seconds);
  asm volatile("" : : : "memory");  // not a tail call
  return value;
}

extern "C" __attribute__((noinline)) uint64_t recurse(unsigned left, double seconds) {
  const uint64_t value = left == 1 ? innermost(seconds) : recurse(left - 1, seconds);
  asm volatile("" : : : "memory");
  return value + 1;
}

extern "C" __attribute__((noinline)) uint64_t outermost(unsigned frames, double seconds) {
  const uint64_t value = recurse(frames, seconds);
  asm volatile("" : : : "memory");
  return value + 2;
}

int main(int, char** argv) {
  const auto frames = static_cast<unsigned>(std::atoi(argv[1]));
  return outermost(frames, std::atof(argv[2])) == 0;
}
