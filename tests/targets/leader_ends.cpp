// A program whose main thread ends long before the process: a thread computes on. Prints "ended" when the kernel has made a
// zombie of the main thread, and goes on until its standard input ends.
//
//   leader_ends [wait]    wait: the main thread ends only when a line comes in
#include <pthread.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "work.h"

namespace {

bool has_ended() {
  char text[256] = {};
  FILE* const stat = std::fopen("/proc/self/stat", "re");
  if (stat == nullptr) return false;
  const size_t size = std::fread(text, 1, sizeof text - 1, stat);
  std::fclose(stat);
  const char* const name = std::strrchr(text, ')');
  return size > 0 && name != nullptr && name[2] == 'Z';
}

__attribute__((noinline)) uint64_t outlives(uint64_t value) {
  return work::spin(value, 100'000);
}

void* survivor(void*) {
  bool said = false;
  uint64_t value = 1;
  for (;;) {
    value = outlives(value);
    if (said || !has_ended()) continue;
    said = true;
    std::puts("ended");
    std::fflush(stdout);
  }
}

void* end_of_input(void*) {
  while (std::getchar() != EOF) continue;
  std::exit(3);
}

}  // namespace

int main(int argc, char**) {
  pthread_t thread;
  pthread_create(&thread, nullptr, survivor, nullptr);
  if (argc > 1) std::getchar();
  pthread_create(&thread, nullptr, end_of_input, nullptr);
  pthread_exit(nullptr);
}
