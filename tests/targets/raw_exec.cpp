// Computes, and executes itself again, by system calls that no function of the C library makes. A sampling signal that is pending
// then would reach the new image, which has no handler for it yet.
//
//   raw_exec TIMES
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/syscall.h"
#include "work.h"

int main(int, char** argv) {
  const int times = std::atoi(argv[1]);
  work::burn(0.01);
  if (times == 0) {
    std::puts("right");
    return 0;
  }
  const std::string left = std::to_string(times - 1);
  const char* arguments[] = {argv[0], left.c_str(), nullptr};
  sampan::raw_syscall(SYS_execve, argv[0], arguments, environ);
  return 1;
}
