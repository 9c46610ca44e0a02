// A program to watch: two threads of a pool compute in four functions as 10:20:30:40, one thread
// waits in poll(). It ends after SECONDS with STATUS, or by SIGTERM or SIGINT.
//
//   watched SECONDS STATUS
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "work.h"

static constexpr uint64_t kSteps = 40000;  // about 0.2 ms

// Turns of varying length: a regular sampling clock cannot stay in step with them.
static uint64_t length(uint64_t x) {
  return kSteps / 2 + x % kSteps;
}

// A macro, because a function would be a frame of its own.
#define STEP(x)                 \
  do {                          \
    x ^= x << 13, x ^= x >> 7;  \
    asm volatile("" : "+r"(x)); \
  } while (0)

__attribute__((noinline)) static uint64_t ten_percent(uint64_t x) {
  for (uint64_t i = 1 * length(x); i > 0; --i) STEP(x);
  return x;
}
__attribute__((noinline)) static uint64_t twenty_percent(uint64_t x) {
  for (uint64_t i = 2 * length(x); i > 0; --i) STEP(x);
  return x;
}
__attribute__((noinline)) static uint64_t thirty_percent(uint64_t x) {
  for (uint64_t i = 3 * length(x); i > 0; --i) STEP(x);
  return x;
}
__attribute__((noinline)) static uint64_t forty_percent(uint64_t x) {
  for (uint64_t i = 4 * length(x); i > 0; --i) STEP(x);
  return x;
}

static void* compute(void* name) {
  pthread_setname_np(pthread_self(), static_cast<const char*>(name));
  uint64_t x = 1;
  while (true) {
    x = ten_percent(x);
    x = twenty_percent(x);
    x = thirty_percent(x);
    x = forty_percent(x);
  }
  return nullptr;
}

static void* wait_for_nothing(void*) {
  pthread_setname_np(pthread_self(), "sleeper");
  while (true) poll(nullptr, 0, 10'000);
  return nullptr;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  static char names[][16] = {"worker-1", "worker-2"};
  pthread_t thread;
  for (char* const name : names) pthread_create(&thread, nullptr, compute, name);
  pthread_create(&thread, nullptr, wait_for_nothing, nullptr);
  std::puts("this is not for the terminal of top");
  std::fflush(stdout);
  const double end = work::wall() + std::atof(argv[1]);
  while (work::wall() < end) usleep(10'000);
  _exit(std::atoi(argv[2]));
}
