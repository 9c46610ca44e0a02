// Threads whose CPU goes to the kernel, to user space, or to both in turn: kernel_time SECONDS, of each
// thread. Prints the CPU of each function.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "work.h"

namespace {

constexpr size_t kBytes = 1 << 20;

__attribute__((noinline)) void long_calls() {
  static const int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  static std::vector<char> buffer(kBytes);
  for (int i = 0; i < 8; ++i) {
    if (read(zeros, buffer.data(), buffer.size()) < 0) std::perror("read");
  }
}

__attribute__((noinline)) void page_faults() {
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (size_t i = 0; i < kBytes; i += 4096) static_cast<volatile char*>(memory)[i] = 1;
  munmap(memory, kBytes);
}

__attribute__((noinline)) void between_calls() {
  work::spin(1, 200'000);
}
__attribute__((noinline)) void between_faults() {
  work::spin(2, 200'000);
}
__attribute__((noinline)) void alone() {
  work::spin(3, 200'000);
}

struct Spender {
  const char* name;
  void (*run)();
  double used = 0;
};

void spend(const char* name, double seconds, std::vector<Spender> spenders) {
  pthread_setname_np(pthread_self(), name);
  const double begin = work::thread_cpu();
  double now = begin;
  while (now - begin < seconds) {
    for (Spender& spender : spenders) {
      spender.run();
      const double then = now;
      now = work::thread_cpu();
      spender.used += now - then;
    }
  }
  for (const Spender& spender : spenders) std::printf("cpu %s %f\n", spender.name, spender.used);
}

}  // namespace

int main(int, char** argv) {
  const double seconds = std::atof(argv[1]);
  std::thread threads[] = {
      std::thread(
          spend, "calls", seconds,
          std::vector<Spender>{{"long_calls", long_calls}, {"between_calls", between_calls}}),
      std::thread(
          spend, "faults", seconds,
          std::vector<Spender>{{"page_faults", page_faults}, {"between_faults", between_faults}}),
      std::thread(spend, "user", seconds, std::vector<Spender>{{"alone", alone}})};
  for (std::thread& thread : threads) thread.join();
  return 0;
}
