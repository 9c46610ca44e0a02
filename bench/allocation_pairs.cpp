// Pairs of malloc and free: allocation_pairs THREADS [PAIRS] prints the ns that one takes, for sizes from 16 bytes to
// 4 KiB. Each thread makes PAIRS of them (10 million if not given): a profiler that unwinds at each needs fewer.
// allocation_pairs sampled prints the ns of a pair at a depth of 30 calls, in bursts with pauses between: for a mean
// of one byte, at which each is recorded, and the ring has to be read.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace {

constexpr unsigned kSizes = 1024;
constexpr int kRounds = 101;
unsigned sizes[kSizes];
int repeats = 100;  // of all sizes in a round

double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

void pair_of(size_t size) {
  void* volatile block = malloc(size);
  free(block);
}

double median(std::vector<double>& values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

void* measure(void* result) {
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    const double begin = cpu_ns();
    for (int i = 0; i < repeats; ++i) {
      for (const unsigned size : sizes) pair_of(size);
    }
    rounds.push_back((cpu_ns() - begin) / (repeats * kSizes));
  }
  *static_cast<double*>(result) = median(rounds);
  return nullptr;
}

__attribute__((noinline)) double burst(unsigned depth) {
  constexpr int kPairs = 64;
  if (depth > 0) {
    const double result = burst(depth - 1);
    asm volatile("");  // no tail call
    return result;
  }
  const double begin = cpu_ns();
  for (int i = 0; i < kPairs; ++i) pair_of(100);
  return (cpu_ns() - begin) / kPairs;
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1 && strcmp(arguments[1], "sampled") == 0) {
    std::vector<double> bursts;
    for (int i = 0; i < 50; ++i) {
      usleep(60'000);
      bursts.push_back(burst(30 - 4));  // main, its two callers, and pair_of or burst
    }
    printf("%.2f\n", median(bursts));
    return 0;
  }
  const unsigned threads = count > 1 ? static_cast<unsigned>(atoi(arguments[1])) : 1;
  if (count > 2) repeats = std::max(1, atoi(arguments[2]) / (kRounds * static_cast<int>(kSizes)));
  unsigned random = 1;
  for (unsigned& size : sizes) {
    random = random * 1664525 + 1013904223;
    size = 16 + (random >> 8) % 4081;
  }
  std::vector<pthread_t> ids(threads);
  std::vector<double> results(threads);
  for (unsigned i = 0; i < threads; ++i) pthread_create(&ids[i], nullptr, measure, &results[i]);
  for (const pthread_t id : ids) pthread_join(id, nullptr);
  printf("%.2f\n", median(results));
  return 0;
}
