// Functions of known shares, one of which can be made slower, so that a comparison of two runs should
// find it. They take turns of 0.01 to 0.2 ms, in a different order in each run, but the sum of the
// turns of each function is the same in all runs.
//
//   planted SECONDS PERCENT    CPU of the run, about; how much slower `slower` is
//
// Shares: half 50, slower 30, small 10, and ten of 1 each.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "work.h"

namespace {

// A constant differs, so that each has code of its own.
#define FUNCTION(name, number)                                          \
  __attribute__((noinline)) uint64_t name(uint64_t x, uint64_t steps) { \
    for (uint64_t i = 0; i < steps; ++i) {                              \
      x ^= x << 13;                                                     \
      x ^= x >> 7;                                                      \
      x ^= (x << 17) + (number);                                        \
      asm volatile("" : "+r"(x));                                       \
    }                                                                   \
    return x;                                                           \
  }
FUNCTION(half, 1)
FUNCTION(slower, 2)
FUNCTION(small, 3)
FUNCTION(one_0, 4)
FUNCTION(one_1, 5)
FUNCTION(one_2, 6)
FUNCTION(one_3, 7)
FUNCTION(one_4, 8)
FUNCTION(one_5, 9)
FUNCTION(one_6, 10)
FUNCTION(one_7, 11)
FUNCTION(one_8, 12)
FUNCTION(one_9, 13)

struct Share {
  uint64_t (*function)(uint64_t, uint64_t);
  double percent;
};
constexpr Share kShares[] = {{half, 50}, {slower, 30}, {small, 10}, {one_0, 1}, {one_1, 1},
                             {one_2, 1}, {one_3, 1},   {one_4, 1},  {one_5, 1}, {one_6, 1},
                             {one_7, 1}, {one_8, 1},   {one_9, 1}};

double steps_per_second() {
  constexpr uint64_t kSteps = 20'000'000;
  const double begin = work::thread_cpu();
  const uint64_t x = work::spin(1, kSteps);
  asm volatile("" : : "r"(x));
  return kSteps / (work::thread_cpu() - begin);
}

struct Turn {
  uint64_t (*function)(uint64_t, uint64_t);
  uint64_t steps;
};

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 3;
  const double slowdown = argc > 2 ? std::atof(argv[2]) / 100 : 0;
  const double speed = steps_per_second();
  std::vector<Turn> turns;
  std::mt19937 lengths(1);  // the same ones in each run
  for (const Share& share : kShares) {
    double left = seconds * share.percent / 100;
    while (left > 0) {
      const double length =
          std::min(left, std::uniform_real_distribution(0.00001, 0.0002)(lengths));
      left -= length;
      const double factor = share.function == slower ? 1 + slowdown : 1;
      turns.push_back({share.function, static_cast<uint64_t>(length * factor * speed)});
    }
  }
  std::shuffle(turns.begin(), turns.end(), std::mt19937(static_cast<unsigned>(getpid())));
  uint64_t x = 1;
  for (const Turn& turn : turns) x = turn.function(x, turn.steps);
  std::printf("%llu\n", static_cast<unsigned long long>(x));
}
