// Locks its memory, as programs that must not wait for a page do. Then as many threads as asked for compute at once, and a
// forked child computes. Prints "locked RESULT", and "kilobytes NUMBER" that it has locked.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "work.h"

namespace {

pthread_barrier_t all_there;

void* compute(void*) {
  pthread_barrier_wait(&all_there);
  work::burn(0.03);
  return nullptr;
}

}  // namespace

int main(int, char** arguments) {
  std::printf("locked %d\n", mlockall(MCL_CURRENT | MCL_FUTURE));
  long kilobytes = 0;
  char line[128];
  std::FILE* status = std::fopen("/proc/self/status", "r");
  while (std::fgets(line, sizeof line, status) != nullptr) std::sscanf(line, "VmLck: %ld", &kilobytes);
  std::fclose(status);
  std::printf("kilobytes %ld\n", kilobytes);
  std::fflush(stdout);
  // Small stacks: all of each is locked.
  const auto count = static_cast<unsigned>(std::atoi(arguments[1]));
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 * 1024);
  pthread_barrier_init(&all_there, nullptr, count);
  std::vector<pthread_t> threads(count);
  for (pthread_t& thread : threads) {
    if (pthread_create(&thread, &small, compute, nullptr) != 0) return 1;
  }
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  if (fork() == 0) {
    work::burn(0.1);
    _exit(0);
  }
  int ended = 0;
  wait(&ended);
  return ended == 0 ? 7 : 1;
}
