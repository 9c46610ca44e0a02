// A program that a timer of its own interrupts 1000 times a second, by a handler with a frame.
//
//   interrupted SECONDS    of CPU
#include <signal.h>
#include <sys/time.h>

#include <cstdio>
#include <cstdlib>

#include "work.h"

namespace {

volatile unsigned handled;

__attribute__((noinline)) void handle_own(int, siginfo_t*, void*) {
  handled = handled + 1;
  work::spin(1, 20'000);
}

}  // namespace

int main(int, char** argv) {
  struct sigaction action {};
  action.sa_sigaction = handle_own;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval often{{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &often, nullptr);
  work::burn(std::atof(argv[1]));
  std::printf("handled %d\n", handled > 0);
}
