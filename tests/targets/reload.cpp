// Loads a library, uses CPU in it and unloads it, 60 times. The name of its function must be known
// nevertheless. Prints "library CPU-SECONDS".
//
//   reload LIBRARY
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "work.h"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  double used = 0;
  for (int round = 0; round < 60; ++round) {
    void* library = dlopen(argv[1], RTLD_NOW);
    if (library == nullptr) return 1;
    const auto burn = reinterpret_cast<uint64_t (*)(double)>(dlsym(library, "burn_in_library"));
    const double begin = work::thread_cpu();
    burn(0.008);
    used += work::thread_cpu() - begin;
    if (dlclose(library) != 0) return 1;
  }
  std::printf("library %.6f\n", used);
}
