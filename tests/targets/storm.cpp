// Storms of operations that are hard on a profiler, from two threads each. Prints "KIND right" if all
// results were right.
//
//   storm KIND SECONDS LIBRARY    load throw malloc threads fork spawn fibers signals all
//   storm status N                exits with N (what `spawn` starts)
#include "storms.h"

#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace storm {

std::atomic<bool> stop = false;
const char* library = nullptr;

void check(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "storm: wrong: %s\n", what);
  _exit(1);
}

}  // namespace storm

namespace {

struct Kind {
  const char* name;
  void (*run)();
};
constexpr Kind kKinds[] = {{"load", storm::load},       {"throw", storm::throw_up},
                           {"malloc", storm::allocate}, {"threads", storm::create},
                           {"fork", storm::fork_off},   {"spawn", storm::spawn},
                           {"fibers", storm::swap},     {"signals", storm::interrupt}};

void* run(void* kind) {
  const Kind& chosen = *static_cast<const Kind*>(kind);
  pthread_setname_np(pthread_self(), chosen.name);
  chosen.run();
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "status") == 0) return std::atoi(argv[2]);
  if (argc != 4) return 2;
  storm::library = argv[3];
  const bool all = std::strcmp(argv[1], "all") == 0;
  pthread_t threads[2 * std::size(kKinds)];
  size_t count = 0;
  for (const Kind& kind : kKinds) {
    if (!all && std::strcmp(argv[1], kind.name) != 0) continue;
    for (int i = 0; i < (all ? 1 : 2); ++i) {
      pthread_create(&threads[count++], nullptr, run, const_cast<Kind*>(&kind));
    }
  }
  if (count == 0) return 2;
  usleep(static_cast<useconds_t>(std::atof(argv[2]) * 1e6));
  storm::stop.store(true);
  for (size_t i = 0; i < count; ++i) pthread_join(threads[i], nullptr);
  std::printf("%s right\n", argv[1]);
}
