// Recursion: a quarter of the CPU each is used at the bottom of 10, 50, 200 and 1000 calls of a
// function.
//
//   depths [SECONDS]
#include <cstdio>
#include <cstdlib>

#include "work.h"

namespace {

template <unsigned Depth>
__attribute__((noinline)) uint64_t recurse(unsigned left, double seconds) {
  const uint64_t value = left == 1 ? work::burn(seconds) : recurse<Depth>(left - 1, seconds);
  asm volatile("" : : : "memory");  // not a tail call
  return value + Depth;             // and not merged with the others
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  uint64_t value = 0;
  for (int round = 0; round < 10; ++round) {
    value += recurse<10>(10, seconds / 40);
    value += recurse<50>(50, seconds / 40);
    value += recurse<200>(200, seconds / 40);
    value += recurse<1000>(1000, seconds / 40);
  }
  std::printf("result %d\n", value != 0);
}
