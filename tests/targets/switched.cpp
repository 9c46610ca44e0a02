// switched: does what each line of its standard input says, and answers it with "ok".
//
//   first, second, third   computes for 0.3 s of CPU, in the function of that name
//   pause, resume          sampling
//   start NAME, stop NAME  a section
//   begin NAME, end NAME   a section of this thread
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <string>

#include "sampan/markers.h"

namespace {

uint64_t cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

volatile uint64_t steps;

inline __attribute__((always_inline)) void compute() {
  const uint64_t end_ns = cpu_ns() + 300'000'000;
  while (cpu_ns() < end_ns) {
    for (int i = 0; i < 20'000; ++i) steps = steps + 1;
  }
}

}  // namespace

extern "C" __attribute__((noinline)) void first() {
  compute();
  asm volatile("");
}
extern "C" __attribute__((noinline)) void second() {
  compute();
  asm volatile("");
}
extern "C" __attribute__((noinline)) void third() {
  compute();
  asm volatile("");
}

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "first") first();
    if (line == "second") second();
    if (line == "third") third();
    if (line == "pause") sampan_pause();
    if (line == "resume") sampan_resume();
    if (line.starts_with("start ")) sampan_section_start(line.c_str() + 6);
    if (line.starts_with("stop ")) sampan_section_stop(line.c_str() + 5);
    if (line.starts_with("begin ")) sampan_thread_section_start(line.c_str() + 6);
    if (line.starts_with("end ")) sampan_thread_section_stop(line.c_str() + 4);
    std::puts("ok");
    std::fflush(stdout);
  }
  return 0;
}
