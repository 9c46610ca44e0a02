// Storms of ordinary library calls: the loader, exceptions, the heap, threads, processes.
#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "storms.h"
#include "work.h"

namespace storm {
namespace {

__attribute__((noinline)) int throw_from(int depth, int value) {
  if (depth == 0) throw value;
  const int result = throw_from(depth - 1, value);
  asm volatile("" : : : "memory");
  return result + 1;
}

void* square(void* value) {
  const auto number = reinterpret_cast<uintptr_t>(value);
  work::spin(number + 1, 2000);
  return reinterpret_cast<void*>(number * number);
}

int exit_status(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

void load() {
  for (int i = 0; keep_on(); ++i) {
    void* handle = dlopen(library, i % 2 == 0 ? RTLD_NOW : RTLD_LAZY);
    check(handle != nullptr, "dlopen");
    const auto twice = reinterpret_cast<int (*)(int)>(dlsym(handle, "twice_in_library"));
    const auto raise = reinterpret_cast<void (*)(int)>(dlsym(handle, "throw_in_library"));
    check(twice != nullptr && twice(i) == 2 * i, "a function of the library");
    try {
      raise(i);
      check(false, "an exception of the library got lost");
    } catch (const std::runtime_error& error) {
      check(std::strcmp(error.what(), i % 2 == 0 ? "even" : "odd") == 0, "its text");
    }
    check(dlclose(handle) == 0, "dlclose");
  }
}

void throw_up() {
  for (int i = 0; keep_on(); ++i) {
    try {
      throw_from(i % 40, i);
      check(false, "an exception got lost");
    } catch (int value) {
      check(value == i, "the value of an exception");
    }
  }
}

void allocate() {
  constexpr size_t kBlocks = 256;
  unsigned char* blocks[kBlocks] = {};
  size_t sizes[kBlocks] = {};
  uint64_t random = 1;
  while (keep_on()) {
    random = work::spin(random, 1);
    const size_t i = random % kBlocks;
    if (blocks[i] != nullptr) {
      const auto mark = static_cast<unsigned char>(i);
      check(blocks[i][0] == mark && blocks[i][sizes[i] - 1] == mark, "a block of the heap");
    }
    sizes[i] = 1 + (random >> 20) % 20000;
    if ((random >> 40) % 3 != 0) {
      std::free(blocks[i]);
      blocks[i] = nullptr;
    }
    blocks[i] = static_cast<unsigned char*>(std::realloc(blocks[i], sizes[i]));
    std::memset(blocks[i], static_cast<int>(i), sizes[i]);
  }
  for (unsigned char* block : blocks) std::free(block);
}

void create() {
  for (uintptr_t i = 0; keep_on(); ++i) {
    pthread_t threads[4];
    for (uintptr_t t = 0; t < 4; ++t) {
      check(pthread_create(&threads[t], nullptr, square, reinterpret_cast<void*>(i + t)) == 0,
            "pthread_create");
    }
    for (uintptr_t t = 0; t < 4; ++t) {
      void* result = nullptr;
      pthread_join(threads[t], &result);
      check(reinterpret_cast<uintptr_t>(result) == (i + t) * (i + t), "a thread's result");
    }
  }
}

void fork_off() {
  for (int i = 0; keep_on(); ++i) {
    const int wanted = i % 100;
    const pid_t child = fork();
    if (child == 0) {
      work::spin(1, 20000);
      _exit(wanted);
    }
    check(child > 0 && exit_status(child) == wanted, "the status of a forked child");
  }
}

void spawn() {
  for (int i = 0; keep_on(); ++i) {
    char number[16];
    std::snprintf(number, sizeof number, "%d", i % 100);
    char name[] = "storm";
    char word[] = "status";
    char* arguments[] = {name, word, number, nullptr};
    pid_t child = 0;
    check(posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments, environ) == 0,
          "posix_spawn");
    check(exit_status(child) == i % 100, "the status of a spawned child");
  }
}

}  // namespace storm
