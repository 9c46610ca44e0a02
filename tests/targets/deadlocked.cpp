// Threads that wait for each other's mutexes: deadlocked KIND SIZE. Says "ready" when each holds its own mutex and is
// about to wait, and a line for each thread before: its tid, the address of the mutex that it waits for, and the tid of
// who holds that. Ends when its standard input does.
//
// KIND: "cycle" of SIZE threads, and one more thread that waits for one of them; "chain", whose last thread waits for
// nothing but the end; "timed", a cycle of waits that end after a minute; "robust", a cycle of robust mutexes.
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

pthread_barrier_t all_hold;
std::vector<pthread_mutex_t> mutexes;
std::vector<long> tids;
const char* kind;

void wait_for(size_t number, size_t size) {
  if (strcmp(kind, "timed") == 0) {
    timespec end{};
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 60;
    pthread_mutex_timedlock(&mutexes[number % size], &end);
  } else {
    pthread_mutex_lock(&mutexes[number % size]);
  }
}

void hold_and_wait(size_t number, size_t size) {
  tids[number] = syscall(SYS_gettid);
  if (number < size) pthread_mutex_lock(&mutexes[number]);
  pthread_barrier_wait(&all_hold);
  const bool is_last_of_chain = strcmp(kind, "chain") == 0 && number + 1 == size;
  if (is_last_of_chain) pause();
  wait_for(number + 1, size);
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  kind = words[1];
  const auto size = static_cast<size_t>(atoi(words[2]));
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  if (strcmp(kind, "robust") == 0) {
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  }
  mutexes.resize(size);
  tids.resize(size + 1);
  for (pthread_mutex_t& mutex : mutexes) pthread_mutex_init(&mutex, &attributes);
  pthread_barrier_init(&all_hold, nullptr, static_cast<unsigned>(size) + 2);
  for (size_t number = 0; number <= size; ++number) {
    std::thread(hold_and_wait, number, size).detach();
  }
  pthread_barrier_wait(&all_hold);
  for (size_t number = 0; number < size; ++number) {
    printf("%ld %p %ld\n", tids[number], static_cast<void*>(&mutexes[(number + 1) % size]),
           tids[(number + 1) % size]);
  }
  puts("ready");
  fflush(stdout);
  while (getchar() != EOF) {
  }
  _exit(0);
}
