// Known shares: four named threads use CPU as 1:2:4:8, and in each of them four functions as
// 10:20:30:40. Prints the true CPU seconds of each thread, as "thread NAME SECONDS".
//
//   shares [SECONDS]    CPU of the whole run, about
#include <pthread.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "work.h"

namespace {

constexpr uint64_t kSteps = 40000;  // about 0.2 ms

// A constant differs, so that each has code of its own.
__attribute__((noinline)) uint64_t ten_percent(uint64_t x, uint64_t steps) {
  return work::spin(x, steps) ^ 1;
}
__attribute__((noinline)) uint64_t twenty_percent(uint64_t x, uint64_t steps) {
  return work::spin(x, steps) ^ 2;
}
__attribute__((noinline)) uint64_t thirty_percent(uint64_t x, uint64_t steps) {
  return work::spin(x, steps) ^ 3;
}
__attribute__((noinline)) uint64_t forty_percent(uint64_t x, uint64_t steps) {
  return work::spin(x, steps) ^ 4;
}

using Function = uint64_t (*)(uint64_t, uint64_t);
using Turns = std::array<Function, 10>;
constexpr Turns kTurns = {ten_percent,    twenty_percent, twenty_percent, thirty_percent,
                          thirty_percent, thirty_percent, forty_percent,  forty_percent,
                          forty_percent,  forty_percent};

// Turns of random length in random order: a regular sampling clock cannot be in step with them, so
// samples are independent.
uint64_t work_in_turns(uint64_t x, std::minstd_rand& random) {
  Turns turns = kTurns;
  std::shuffle(turns.begin(), turns.end(), random);
  for (const Function function : turns) x = function(x, random() % (2 * kSteps));
  return x;
}

struct Worker {
  const char* name;
  unsigned share;
  uint64_t rounds;
  double cpu;
  uint64_t result;
};

void* run(void* argument) {
  Worker& worker = *static_cast<Worker*>(argument);
  pthread_setname_np(pthread_self(), worker.name);
  uint64_t x = worker.share;
  std::minstd_rand random(worker.share);
  for (uint64_t i = 0; i < worker.rounds; ++i) x = work_in_turns(x, random);
  worker.result = x;
  worker.cpu = work::thread_cpu();
  return nullptr;
}

// Rounds per second of CPU on this machine.
double rounds_per_second() {
  const double begin = work::thread_cpu();
  uint64_t x = 1;
  for (int i = 0; i < 10; ++i) x = work::spin(x, 10 * kSteps);
  asm volatile("" : : "r"(x));
  return 10 / (work::thread_cpu() - begin);
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 3;
  const double rounds = seconds / 15 * rounds_per_second();
  Worker workers[] = {{"share-1", 1, 0, 0, 0},
                      {"share-2", 2, 0, 0, 0},
                      {"share-4", 4, 0, 0, 0},
                      {"share-8", 8, 0, 0, 0}};
  pthread_t threads[4];
  for (unsigned i = 0; i < 4; ++i) {
    workers[i].rounds = static_cast<uint64_t>(rounds * workers[i].share);
    pthread_create(&threads[i], nullptr, run, &workers[i]);
  }
  for (unsigned i = 0; i < 4; ++i) {
    pthread_join(threads[i], nullptr);
    std::printf("thread %s %.6f\n", workers[i].name, workers[i].cpu);
  }
  std::printf("main %.6f\n", work::thread_cpu());
}
