// clockwork PROCESSES THREADS STEP_S END [AFTER_S]: all threads do the same at the same time: in the
// i-th step of STEP_S seconds each computes in the function step<i>, for a quarter of the time.
//
// It prints "PID TID BEGIN" for each thread. BEGIN: when the first step began (CLOCK_MONOTONIC,
// seconds). END: "wait" until it is killed, or after AFTER_S seconds "exit", "abort" in the first
// process, or "memory": the first process allocates memory until it dies.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "work.h"

namespace {

constexpr int kSteps = 64;
constexpr double kTurn = 0.02;

double begin, step_seconds;
volatile bool over;

inline __attribute__((always_inline)) void compute(int step) {
  const double end = begin + (step + 1) * step_seconds;
  uint64_t seed = 4711;
  while (!over && work::wall() < end) {
    // By its own CPU: on a busy machine a turn takes longer, and is as long.
    const double busy = work::thread_cpu() + kTurn / 4;
    while (work::thread_cpu() < busy && work::wall() < end) seed = work::spin(seed, 500);
    usleep(static_cast<useconds_t>(kTurn * 3 / 4 * 1e6));
  }
}

template <int I>
__attribute__((noinline)) void step() {
  compute(I);
  asm volatile("");
}

template <int... I>
void all_steps(std::integer_sequence<int, I...>) {
  static_cast<void>(((step<I>(), over) || ...));
}

void live() {
  std::printf("%d %d %.6f\n", getpid(), gettid(), begin);
  std::fflush(stdout);
  all_steps(std::make_integer_sequence<int, kSteps>());
}

// With a limit of address space malloc fails. Without any limit it stops at kMost blocks.
void take_memory() {
  constexpr size_t kBlock = size_t{1} << 20;
  constexpr int kMost = 1000;
  for (int i = 0; i < kMost; ++i) {
    char* const block = static_cast<char*>(std::malloc(kBlock));
    if (block == nullptr) std::abort();
    std::memset(block, 1, kBlock);
  }
  std::fputs("nothing limits the memory\n", stderr);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const int processes = std::atoi(argv[1]), threads = std::atoi(argv[2]);
  step_seconds = std::atof(argv[3]);
  const std::string end = argv[4];
  const double after = argc > 5 ? std::atof(argv[5]) : 0;
  begin = work::wall();
  bool first = true;
  for (int i = 1; i < processes; ++i) {
    if (fork() == 0) {
      first = false;
      break;
    }
  }
  std::vector<std::thread> workers;
  for (int i = 1; i < threads; ++i) workers.emplace_back(live);
  std::thread ending([&] {
    if (end == "wait") return;
    usleep(static_cast<useconds_t>(std::max(0.0, begin + after - work::wall()) * 1e6));
    if (first && end == "abort") std::abort();
    if (first && end == "memory") take_memory();
    if (end != "exit") sleep(1);  // the other processes go on for a while
    over = true;
  });
  live();
  for (std::thread& worker : workers) worker.join();
  ending.join();
  if (first) {
    while (wait(nullptr) > 0) {
    }
  }
  return 0;
}
