// Many threads. Prints "threads CPU-SECONDS": the CPU that they used, by their own clocks.
//
//   threads small-stacks    16 at a time on PTHREAD_STACK_MIN, each using half of it
//   threads short [COUNT [US]]   COUNT threads (10000) that use US microseconds of CPU (1000), two
//                                at a time
#include <limits.h>
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "work.h"

namespace {

std::atomic<uint64_t> nanoseconds = 0;
double short_seconds = 0.001;

void count_cpu() {
  nanoseconds.fetch_add(static_cast<uint64_t>(work::thread_cpu() * 1e9));
}

void* use_half_the_stack(void*) {
  volatile char bytes[8192];
  for (size_t i = 0; i < sizeof bytes; ++i) bytes[i] = static_cast<char>(i);
  work::burn(0.05);
  for (size_t i = 0; i < sizeof bytes; ++i) {
    if (bytes[i] != static_cast<char>(i)) std::abort();
  }
  count_cpu();
  return nullptr;
}

void* be_short(void*) {
  work::burn(short_seconds);
  count_cpu();
  return nullptr;
}

void run(unsigned count, unsigned at_once, size_t stack_size, void* (*entry)(void*)) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (stack_size != 0) pthread_attr_setstacksize(&attributes, stack_size);
  pthread_t threads[16];
  for (unsigned done = 0; done < count; done += at_once) {
    for (unsigned i = 0; i < at_once; ++i) {
      if (pthread_create(&threads[i], &attributes, entry, nullptr) != 0) std::abort();
    }
    for (unsigned i = 0; i < at_once; ++i) pthread_join(threads[i], nullptr);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool small = argc > 1 && std::strcmp(argv[1], "small-stacks") == 0;
  const unsigned count = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 10000;
  if (argc > 3) short_seconds = std::atof(argv[3]) * 1e-6;
  if (small) {
    run(32, 16, PTHREAD_STACK_MIN, use_half_the_stack);
  } else {
    run(count, 2, 0, be_short);
  }
  std::printf("threads %.6f\n", static_cast<double>(nanoseconds.load()) * 1e-9);
}
