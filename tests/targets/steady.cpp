// A result that depends on the registers of many threads: three that compute, short-lived ones, and
// two that wait. Prints the result and how many waits were interrupted: "result NUMBER",
// "interrupted COUNT". Both depend on STEPS only, whatever sampan does.
//
//   steady [STEPS]    (15 million: about 0.7 s of CPU)
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "work.h"

namespace {

uint64_t steps = 15'000'000;
std::atomic<bool> stop = false;
std::atomic<int> interrupted = 0;

// Uses integer and vector registers.
void* compute(void* seed) {
  double values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  uint64_t result = reinterpret_cast<uint64_t>(seed);
  for (uint64_t i = 0; i < steps; ++i) {
    result = work::spin(result, 8);
    for (double& value : values) value = value * 0.999 + static_cast<double>(result & 15);
  }
  for (const double value : values) result += static_cast<uint64_t>(value * 1000);
  return reinterpret_cast<void*>(result);
}

void* compute_shortly(void* seed) {
  return reinterpret_cast<void*>(work::spin(reinterpret_cast<uint64_t>(seed), 20'000));
}

void* wait_in_epoll(void*) {
  const int fd = epoll_create1(EPOLL_CLOEXEC);
  while (!stop) {
    epoll_event event;
    if (epoll_wait(fd, &event, 1, 20) < 0 && errno == EINTR) ++interrupted;
  }
  return nullptr;
}

void* wait_in_sleep(void*) {
  while (!stop) {
    if (usleep(5000) < 0 && errno == EINTR) ++interrupted;
  }
  return nullptr;
}

uint64_t result_of(pthread_t thread) {
  void* result = nullptr;
  pthread_join(thread, &result);
  return reinterpret_cast<uint64_t>(result);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) steps = std::strtoull(argv[1], nullptr, 10);
  pthread_t waiting[2], computing[3];
  pthread_create(&waiting[0], nullptr, wait_in_epoll, nullptr);
  pthread_create(&waiting[1], nullptr, wait_in_sleep, nullptr);
  for (uintptr_t i = 0; i < 3; ++i) {
    pthread_create(&computing[i], nullptr, compute, reinterpret_cast<void*>(i + 1));
  }
  uint64_t sum = 0;
  for (uintptr_t i = 1; i <= 120; ++i) {
    pthread_t brief;
    pthread_create(&brief, nullptr, compute_shortly, reinterpret_cast<void*>(i));
    usleep(2000);
    sum += result_of(brief);
  }
  for (const pthread_t thread : computing) sum = sum * 31 + result_of(thread);
  stop = true;
  for (const pthread_t thread : waiting) pthread_join(thread, nullptr);
  std::printf("result %lu\ninterrupted %d\n", sum, interrupted.load());
}
