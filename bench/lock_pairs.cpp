// The CPU time in ns of getting a free lock and releasing it, of each kind, in a process with two threads: a line "kind ns"
// for each, the least of many runs.
#include <pthread.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <thread>

namespace {

constexpr int kPairs = 100'000;
constexpr int kRuns = 30;

double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

template <typename Pair>
void measure(const char* kind, Pair&& pair) {
  double least = 1e9;
  for (int run = 0; run < kRuns; ++run) {
    const double begin = cpu_ns();
    for (int i = 0; i < kPairs; ++i) pair();
    least = std::min(least, (cpu_ns() - begin) / kPairs);
  }
  std::printf("%s %.3f\n", kind, least);
}

}  // namespace

int main() {
  // glibc has a faster way for processes of one thread.
  std::thread([] { pause(); }).detach();
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  measure("mutex", [&] {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  });
  pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
  measure("read_lock", [&] {
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
  });
  measure("write_lock", [&] {
    pthread_rwlock_wrlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
  });
  pthread_spinlock_t spin;
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  measure("spin_lock", [&] {
    pthread_spin_lock(&spin);
    pthread_spin_unlock(&spin);
  });
  sem_t semaphore;
  sem_init(&semaphore, 0, 1);
  measure("semaphore", [&] {
    sem_wait(&semaphore);
    sem_post(&semaphore);
  });
}
