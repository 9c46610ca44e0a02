// A chain of threads that wait for each other: critical ROUNDS. In each round, a span "request", the main thread works
// itself, then asks the front thread by a semaphore and waits on a condition for its answer. The front thread works, and
// asks the back thread in the same way. Meanwhile a busy thread works for nobody. Prints the CPU of each of the three, in ns.
#include <pthread.h>
#include <sampan/markers.h>
#include <semaphore.h>
#include <time.h>

#include <atomic>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

uint64_t cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Uses so much CPU, and adds it.
#define PART(name, milliseconds)                                    \
  uint64_t name##_ns = 0;                                           \
  __attribute__((noinline)) void name() {                           \
    const uint64_t begin = cpu_ns();                                \
    while (cpu_ns() < begin + (milliseconds)*uint64_t{1'000'000}) { \
      for (int i = 0; i < 20'000; ++i) asm volatile("");            \
    }                                                               \
    name##_ns += cpu_ns() - begin;                                  \
  }
PART(in_main, 4)
PART(in_front, 8)
PART(in_back, 16)
PART(for_nobody, 5)

// A thread that is asked and answers.
struct Server {
  sem_t asked;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  bool has_answered = false;

  Server() { sem_init(&asked, 0, 0); }
  void ask() {
    sem_post(&asked);
    pthread_mutex_lock(&mutex);
    while (!has_answered) pthread_cond_wait(&condition, &mutex);
    has_answered = false;
    pthread_mutex_unlock(&mutex);
  }
  void answer() {
    pthread_mutex_lock(&mutex);
    has_answered = true;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
  }
};
Server front, back;
std::atomic<bool> ends = false;

}  // namespace

int main(int count, char** words) {
  const int rounds = count > 1 ? atoi(words[1]) : 1;
  std::thread back_thread([&] {
    pthread_setname_np(pthread_self(), "back");
    for (int i = 0; i < rounds; ++i) {
      sem_wait(&back.asked);
      in_back();
      back.answer();
    }
  });
  std::thread front_thread([&] {
    pthread_setname_np(pthread_self(), "front");
    for (int i = 0; i < rounds; ++i) {
      sem_wait(&front.asked);
      in_front();
      back.ask();
      front.answer();
    }
  });
  std::thread busy_thread([] {
    pthread_setname_np(pthread_self(), "busy");
    while (!ends) for_nobody();
  });
  for (int i = 0; i < rounds; ++i) {
    sampan::Span span("request");
    in_main();
    front.ask();
  }
  ends = true;
  for (std::thread* thread : {&back_thread, &front_thread, &busy_thread}) thread->join();
  printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", in_main_ns, in_front_ns, in_back_ns);
}
