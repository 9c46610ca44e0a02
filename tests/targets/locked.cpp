// A program that locks all of its memory, that which it will have, too, as those do that must answer in time. It says what the
// kernel answers: to that, and then to what needs memory. Its threads have small stacks, as there is a limit.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "work.h"

namespace {

constexpr size_t kStack = 64 << 10;
constexpr size_t kPart = 256 << 10;
constexpr int kThreads = 4;

void say(const char* what, bool done) {
  printf("%s: %s\n", what, done ? "done" : strerror(errno));
}

void* run(void*) {
  work::burn(0.2);
  return nullptr;
}

}  // namespace

int main() {
  say("mlockall", mlockall(MCL_CURRENT | MCL_FUTURE) == 0);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  pthread_t threads[kThreads];
  bool created = true;
  for (pthread_t& thread : threads) {
    created &= pthread_create(&thread, &attributes, run, nullptr) == 0;
  }
  say("threads", created);
  void* const part =
      mmap(nullptr, kPart, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  say("mmap", part != MAP_FAILED);
  if (created) {
    for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  }
  return 0;
}
