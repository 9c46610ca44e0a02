// Counts the ticks of SIGPROF in ways that no function of the C library's shows: its own profiler, and a handler that is set by
// the instruction itself. Prints "ticks KIND NUMBER": 100 for each second of CPU.
//
//   counted KIND SECONDS    profil, inline; monitor: built with -pg, and the C library counts into gmon.out
#include <signal.h>
#include <sys/profil.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "work.h"

namespace {

constexpr size_t kPlaces = 1 << 16;
unsigned short places[kPlaces];
volatile unsigned handled;

void count_places() {
  unsigned sum = 0;
  for (const unsigned short place : places) sum += place;
  std::printf("ticks profil %u\n", sum);
}

// 64 bytes of code for each place, around `work`.
size_t first_place() {
  return reinterpret_cast<size_t>(&work::burn) - (size_t{1} << 20);
}

void by_profil(double seconds) {
  profil(places, sizeof places, first_place(), 0x10000 / 32);
  work::burn(seconds);
  unsigned short* none = nullptr;
  asm("" : "+r"(none));  // the header says that it is not null
  profil(none, 0, 0, 0);
  count_places();
}

#if defined(__x86_64__)
long inline_action(int signo, const void* wanted, void* before) {
  register long size asm("r10") = sizeof(uint64_t);
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(SYS_rt_sigaction), "D"(signo), "S"(wanted), "d"(before), "r"(size)
               : "rcx", "r11", "memory");
  return result;
}

void by_instruction(double seconds) {
  struct {
    void (*handler)(int);
    unsigned long flags;
    void* restorer;
    uint64_t mask;
  } action{}, before{};
  struct sigaction user {};
  user.sa_handler = [](int) {};
  sigaction(SIGUSR1, &user, nullptr);
  inline_action(SIGUSR1, nullptr, &action);  // for its restorer
  action.handler = [](int) { handled = handled + 1; };
  inline_action(SIGPROF, &action, &before);
  const itimerval often{{0, 10'000}, {0, 10'000}}, never{};
  setitimer(ITIMER_PROF, &often, nullptr);
  work::burn(seconds);
  setitimer(ITIMER_PROF, &never, nullptr);
  std::printf("ticks inline %u\n", handled);
}
#endif

}  // namespace

int main(int, char** argv) {
  const double seconds = std::atof(argv[2]);
  if (std::strcmp(argv[1], "profil") == 0) by_profil(seconds);
#if defined(__x86_64__)
  if (std::strcmp(argv[1], "inline") == 0) by_instruction(seconds);
#endif
  if (std::strcmp(argv[1], "monitor") == 0) work::burn(seconds);
  std::printf("cpu %.3f\n", work::process_cpu());
}
