// Allocates what is known beforehand: target_allocations WORD [NUMBER]…. What the tests need to know is printed, one
// "name value…" per line.
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

// operators.cpp
extern "C" int use_operators();

namespace {

// An allocation that could be left out, or a call of malloc in tail position, is not what the test is about.
thread_local void* volatile sink;
__attribute__((noinline)) void* used(void* block) {
  sink = block;
  return sink;
}

uint64_t next_random(uint64_t& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state >> 33;
}

// forms: each function once, by sizes of its own.

size_t too_much() {
  void* const opaque = used(nullptr);
  return SIZE_MAX / 4 + reinterpret_cast<uintptr_t>(opaque);
}

// Not every allocator has a pvalloc.
__attribute__((noinline)) void forms(bool with_pvalloc) {
  free(used(malloc(1001)));
  free(used(calloc(7, 143 + 3)));  // 1022
  void* block = used(realloc(nullptr, 1003));
  block = used(realloc(block, 100'003));
  free(block);
  block = used(reallocarray(nullptr, 2, 502));  // 1004
  free(block);
  free(used(aligned_alloc(64, 1088)));
  if (posix_memalign(&block, 128, 1006) == 0) free(used(block));
  free(used(memalign(256, 1007)));
  free(used(valloc(1008)));
  if (with_pvalloc) free(used(pvalloc(1009)));
  free(used(strdup("twelve bytes")));  // 13
  // Fails: the block is as before.
  block = used(malloc(1010));
  if (realloc(block, too_much()) != nullptr) abort();
  if (reallocarray(block, too_much(), 8) != nullptr) abort();
  if (calloc(too_much(), 8) != nullptr || malloc(2 * too_much() + 8) != nullptr) abort();
  free(block);
  // Is a free.
  block = used(malloc(1011));
  sink = realloc(block, 0);  // NOLINT(clang-analyzer-optin.portability.UnixAPI)
  sink = malloc(1012);       // stays
  free(nullptr);
}

// mappings

__attribute__((noinline)) void mappings() {
  constexpr size_t kPage = 4096;
  const auto map = [](size_t size, int protection, int flags) {
    return mmap(nullptr, size, protection, flags, -1, 0);
  };
  constexpr int kBoth = PROT_READ | PROT_WRITE, kOurs = MAP_PRIVATE | MAP_ANONYMOUS;
  munmap(used(map(101 * kPage, kBoth, kOurs)), 101 * kPage);
  // In two parts.
  char* at = static_cast<char*>(used(map(102 * kPage, kBoth, kOurs)));
  munmap(at, 50 * kPage);
  munmap(at + 50 * kPage, 52 * kPage);
  // Moved, and gone under another one.
  at = static_cast<char*>(used(map(103 * kPage, kBoth, kOurs)));
  at = static_cast<char*>(used(mremap(at, 103 * kPage, 203 * kPage, MREMAP_MAYMOVE)));
  if (mmap(at, 203 * kPage, kBoth, kOurs | MAP_FIXED, -1, 0) != at) abort();
  munmap(at, 203 * kPage);
  // Only reserved.
  munmap(used(map(104 * kPage, PROT_NONE, kOurs)), 104 * kPage);
  sink = map(105 * kPage, kBoth, MAP_SHARED | MAP_ANONYMOUS);  // stays
}

// before main, and after it

void* early;
__attribute__((constructor)) void before_main(int count, char** arguments) {
  if (count > 1 && strcmp(arguments[1], "early") == 0) early = used(malloc(2001));
}
__attribute__((destructor)) void after_main() {
  free(early);
}

// the ends of threads

pthread_key_t key;

struct Local {
  void* block = nullptr;
  ~Local() { free(block); }
};

void* thread_with_leftovers(void*) {
  static thread_local Local local;
  local.block = used(malloc(3001));
  pthread_setspecific(key, used(malloc(3002)));
  return used(malloc(3003));
}

void thread_ends() {
  pthread_key_create(&key, free);
  for (int i = 0; i < 20; ++i) {
    pthread_t thread;
    void* result = nullptr;
    pthread_create(&thread, nullptr, thread_with_leftovers, nullptr);
    pthread_join(thread, &result);
    free(result);
  }
}

// fork

void forks() {
  void* blocks[16];
  for (void*& block : blocks) block = used(malloc(4001));
  for (int i = 0; i < 2; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      for (void* block : blocks) free(block);
      for (void*& block : blocks) block = used(malloc(4002));
      for (void* block : blocks) free(block);
      _exit(0);
    }
    waitpid(pid, nullptr, 0);
  }
  const pid_t pid = vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork): what is tested
  if (pid == 0) _exit(0);
  waitpid(pid, nullptr, 0);
  for (void* block : blocks) free(block);
}

// pairs: threads free what others have allocated

std::atomic<void*> exchange[1024];
int pairs_each;
pthread_barrier_t together;

void* exchange_blocks(void* number) {
  uint64_t random = reinterpret_cast<uintptr_t>(number) + 1;
  pthread_barrier_wait(&together);
  for (int i = 0; i < pairs_each; ++i) {
    if (i % 256 == 0) sched_yield();  // else each would meet its own blocks
    const size_t size = 16 + next_random(random) % 4000;
    free(exchange[next_random(random) % 1024].exchange(malloc(size)));
  }
  return nullptr;
}

void pairs(int count) {
  constexpr int kThreads = 8;
  pairs_each = count;
  pthread_barrier_init(&together, nullptr, kThreads);
  pthread_t threads[kThreads];
  for (uintptr_t i = 0; i < kThreads; ++i) {
    pthread_create(&threads[i], nullptr, exchange_blocks, reinterpret_cast<void*>(i));
  }
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  for (std::atomic<void*>& block : exchange) free(block.load());
}

// in signal handlers: never while the allocator runs, which would not bear it

std::atomic<bool> may_allocate;
std::atomic<unsigned> handled;

void on_alarm(int) {
  // The interrupted code is at work with blocks that it has, or in sampan's part of an allocation.
  if (!may_allocate.load()) return;
  free(used(malloc(5001)));
  handled.fetch_add(1);
}

void signals(int milliseconds) {
  struct sigaction action {};
  action.sa_handler = on_alarm;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval period{{0, 500}, {0, 500}};
  setitimer(ITIMER_REAL, &period, nullptr);
  timespec now{}, begin{};
  clock_gettime(CLOCK_MONOTONIC, &begin);
  volatile unsigned work = 0;
  do {
    void* block = malloc(5002);
    may_allocate = true;
    for (unsigned i = 0; i < 2000; ++i) work = work + i;
    may_allocate = false;
    free(block);
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1'000'000 <
           milliseconds);
  const itimerval none{};
  setitimer(ITIMER_REAL, &none, nullptr);
  printf("handled %u\n", handled.load());
}

// known: five functions in four threads, with shares that are known

struct Truth {
  std::atomic<uint64_t> bytes, count, live_bytes, live_count;
};
Truth truths[5];
int rounds, pause_ms;

// Every 8th block lives on.
void settle(Truth& truth, void* block, size_t size, unsigned at) {
  truth.bytes += size;
  ++truth.count;
  if (at % 8 != 0) return free(block);
  truth.live_bytes += size;
  ++truth.live_count;
}

__attribute__((noinline)) void allocate_first(size_t size, unsigned at) {
  settle(truths[0], used(malloc(size)), size, at);
}
__attribute__((noinline)) void allocate_second(size_t size, unsigned at) {
  settle(truths[1], used(malloc(size)), size, at);
}
__attribute__((noinline)) void allocate_third(size_t size, unsigned at) {
  settle(truths[2], used(malloc(size)), size, at);
}
__attribute__((noinline)) void allocate_fourth(size_t size, unsigned at) {
  settle(truths[3], used(malloc(size)), size, at);
}
__attribute__((noinline)) void allocate_fifth(size_t size, unsigned at) {
  settle(truths[4], used(malloc(size)), size, at);
}

void* allocate_known(void* number) {
  uint64_t random = reinterpret_cast<uintptr_t>(number) + 100;
  for (int round = 0; round < rounds; ++round) {
    for (unsigned i = 0; i < 4096; ++i) allocate_first(16, i);
    for (unsigned i = 0; i < 1024; ++i) allocate_second(64 + next_random(random) % 128, i);
    for (unsigned i = 0; i < 64; ++i) allocate_third(4096, i);
    for (unsigned i = 0; i < 16; ++i) allocate_fourth(60'000 + next_random(random) % 40'000, i);
    usleep(static_cast<unsigned>(pause_ms) * 1000);
  }
  // Few, and large. Untouched, so they take no memory.
  for (unsigned i = 0; i < 16; ++i) allocate_fifth(size_t{1} << (20 + i % 7), i + 1);
  return nullptr;
}

void known(int count, int pause) {
  rounds = count;
  pause_ms = pause;
  pthread_t threads[4];
  for (uintptr_t i = 0; i < 4; ++i) {
    pthread_create(&threads[i], nullptr, allocate_known, reinterpret_cast<void*>(i));
  }
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  const char* const names[] = {"first", "second", "third", "fourth", "fifth"};
  for (unsigned i = 0; i < 5; ++i) {
    printf("allocate_%s %lu %lu %lu %lu\n", names[i], truths[i].bytes.load(),
           truths[i].count.load(), truths[i].live_bytes.load(), truths[i].live_count.load());
  }
}

}  // namespace

int main(int count, char** arguments) {
  setvbuf(stdout, nullptr, _IONBF, 0);  // no buffer that would be allocated
  const char* word = count > 1 ? arguments[1] : "";
  const int number = count > 2 ? atoi(arguments[2]) : 0;
  if (strcmp(word, "forms") == 0) forms(number != 1);
  if (strcmp(word, "operators") == 0) return use_operators();
  if (strcmp(word, "mappings") == 0) mappings();
  if (strcmp(word, "thread_ends") == 0) thread_ends();
  if (strcmp(word, "fork") == 0) forks();
  if (strcmp(word, "pairs") == 0) pairs(number);
  if (strcmp(word, "signals") == 0) signals(number);
  if (strcmp(word, "known") == 0) known(number, count > 3 ? atoi(arguments[3]) : 0);
  return 0;
}
