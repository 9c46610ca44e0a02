// Waits for locks and events of known holders and wakers: locks KIND ROUNDS MICROSECONDS
//
// In each round one of two threads holds the lock for so long, or lets the waiter wait for so long before it wakes it.
// The rounds are kept in step by pipes. Prints a line for each round: the tids of the waiter and of the other thread,
// how long the waiter waited by its own clock, and how long it had no CPU meanwhile, in ns.
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

namespace {

struct Pipe {
  int ends[2];
  Pipe() {
    if (pipe(ends) != 0) abort();
  }
  void tell(char word) const {
    if (write(ends[1], &word, 1) != 1) abort();
  }
  char hear() const {
    char word = 0;
    if (read(ends[0], &word, 1) != 1) abort();
    return word;
  }
};

uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// The calling thread's time: runnable without a CPU.
uint64_t queued_ns() {
  char text[128] = {};
  const int file = open("/proc/thread-self/schedstat", O_RDONLY);
  if (read(file, text, sizeof text - 1) <= 0) abort();
  close(file);
  return strtoull(strchr(text, ' '), nullptr, 10);
}

timespec in_a_minute(clockid_t clock) {
  timespec end{};
  clock_gettime(clock, &end);
  end.tv_sec += 60;
  return end;
}

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t* made_mutex;
pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_spinlock_t spin;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
pthread_mutex_t condition_mutex = PTHREAD_MUTEX_INITIALIZER;
bool is_ready;
sem_t semaphore;
pthread_barrier_t barrier;
mtx_t c11_mutex;
cnd_t c11_condition;

__attribute__((noinline)) void make_mutex() {
  made_mutex = new pthread_mutex_t;
  pthread_mutex_init(made_mutex, nullptr);
  asm volatile("");
}

// What the waiter does, and what the other thread does before and after it has let the waiter wait.
struct Kind {
  const char* name;
  void (*wait)();
  void (*hold)();
  void (*release)();
};

const Kind kKinds[] = {
    {"mutex",
     [] {
       pthread_mutex_lock(&mutex);
       pthread_mutex_unlock(&mutex);
     },
     [] { pthread_mutex_lock(&mutex); }, [] { pthread_mutex_unlock(&mutex); }},
    {"made_mutex",
     [] {
       pthread_mutex_lock(made_mutex);
       pthread_mutex_unlock(made_mutex);
     },
     [] { pthread_mutex_lock(made_mutex); }, [] { pthread_mutex_unlock(made_mutex); }},
    {"timed_mutex",
     [] {
       const timespec end = in_a_minute(CLOCK_REALTIME);
       if (pthread_mutex_timedlock(&mutex, &end) != 0) abort();
       pthread_mutex_unlock(&mutex);
     },
     [] { pthread_mutex_lock(&mutex); }, [] { pthread_mutex_unlock(&mutex); }},
    // The holder hands the mutex on by waiting for a condition.
    {"mutex_by_condition",
     [] {
       pthread_mutex_lock(&mutex);
       pthread_mutex_unlock(&mutex);
     },
     [] { pthread_mutex_lock(&mutex); },
     [] {
       timespec end{};
       clock_gettime(CLOCK_REALTIME, &end);
       pthread_cond_timedwait(&condition, &mutex, &end);
       pthread_mutex_unlock(&mutex);
     }},
    {"write_lock",
     [] {
       pthread_rwlock_wrlock(&rwlock);
       pthread_rwlock_unlock(&rwlock);
     },
     [] { pthread_rwlock_rdlock(&rwlock); }, [] { pthread_rwlock_unlock(&rwlock); }},
    {"read_lock",
     [] {
       pthread_rwlock_rdlock(&rwlock);
       pthread_rwlock_unlock(&rwlock);
     },
     [] { pthread_rwlock_wrlock(&rwlock); }, [] { pthread_rwlock_unlock(&rwlock); }},
    {"spin_lock",
     [] {
       pthread_spin_lock(&spin);
       pthread_spin_unlock(&spin);
     },
     [] { pthread_spin_lock(&spin); }, [] { pthread_spin_unlock(&spin); }},
    {"c11_mutex",
     [] {
       mtx_lock(&c11_mutex);
       mtx_unlock(&c11_mutex);
     },
     [] { mtx_lock(&c11_mutex); }, [] { mtx_unlock(&c11_mutex); }},
    {"condition",
     [] {
       pthread_mutex_lock(&condition_mutex);
       while (!is_ready) pthread_cond_wait(&condition, &condition_mutex);
       is_ready = false;
       pthread_mutex_unlock(&condition_mutex);
     },
     [] {},
     [] {
       pthread_mutex_lock(&condition_mutex);
       is_ready = true;
       pthread_mutex_unlock(&condition_mutex);
       pthread_cond_signal(&condition);
     }},
    {"c11_condition",
     [] {
       mtx_lock(&c11_mutex);
       while (!is_ready) cnd_wait(&c11_condition, &c11_mutex);
       is_ready = false;
       mtx_unlock(&c11_mutex);
     },
     [] {},
     [] {
       mtx_lock(&c11_mutex);
       is_ready = true;
       cnd_broadcast(&c11_condition);
       mtx_unlock(&c11_mutex);
     }},
    {"semaphore", [] { sem_wait(&semaphore); }, [] {}, [] { sem_post(&semaphore); }},
    {"timed_semaphore",
     [] {
       const timespec end = in_a_minute(CLOCK_REALTIME);
       if (sem_timedwait(&semaphore, &end) != 0) abort();
     },
     [] {}, [] { sem_post(&semaphore); }},
    {"barrier", [] { pthread_barrier_wait(&barrier); }, [] {},
     [] { pthread_barrier_wait(&barrier); }},
};

Pipe to_waiter, to_others[2], to_main;
long others[2];
pthread_t waiter_thread;
std::atomic<long> waiter_tid;
std::atomic<bool> is_about_to_wait;
timespec pause_time;

// Whether the waiter is in futex.
bool is_asleep() {
  char path[64], text[64] = {};
  snprintf(path, sizeof path, "/proc/self/task/%ld/syscall", waiter_tid.load());
  const int file = open(path, O_RDONLY);
  if (read(file, text, sizeof text - 1) <= 0) abort();
  close(file);
  return strtol(text, nullptr, 10) == SYS_futex;
}

uint64_t cpu_of_waiter_ns() {
  clockid_t clock = 0;
  timespec used{};
  pthread_getcpuclockid(waiter_thread, &clock);
  clock_gettime(clock, &used);
  return static_cast<uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(used.tv_nsec);
}

// Returns when the waiter has waited for at least as long as was asked for.
void let_it_wait(bool spins) {
  while (!is_about_to_wait) sched_yield();
  if (spins) {
    const uint64_t end = cpu_of_waiter_ns() + static_cast<uint64_t>(pause_time.tv_nsec);
    while (cpu_of_waiter_ns() < end) sched_yield();
  } else {
    while (!is_asleep()) usleep(100);
    nanosleep(&pause_time, nullptr);
  }
  is_about_to_wait = false;
}

// Its release is in another function for each of the two, so that stacks tell them apart.
template <int number>
__attribute__((noinline)) void release_in(const Kind& kind) {
  kind.release();
  asm volatile("" : : "i"(number));
}

template <int number>
void be_other(const Kind& kind) {
  others[number] = syscall(SYS_gettid);
  to_main.tell('r');
  while (to_others[number].hear() == 'g') {
    kind.hold();
    to_waiter.tell(number == 0 ? '0' : '1');
    let_it_wait(strcmp(kind.name, "spin_lock") == 0);
    release_in<number>(kind);
    to_main.tell('r');
  }
}

__attribute__((noinline)) void wait_here(const Kind& kind) {
  kind.wait();
  asm volatile("");
}

void be_waiter(const Kind& kind) {
  const long self = syscall(SYS_gettid);
  waiter_tid = self;
  for (char word = to_waiter.hear(); word != 'e'; word = to_waiter.hear()) {
    const uint64_t queued_before = queued_ns();
    const uint64_t begin = now_ns();
    is_about_to_wait = true;
    wait_here(kind);
    const uint64_t waited = now_ns() - begin;
    printf("%ld %ld %" PRIu64 " %" PRIu64 "\n", self, others[word - '0'], waited,
           queued_ns() - queued_before);
    to_main.tell('d');
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) return 2;
  const Kind* kind = nullptr;
  for (const Kind& each : kKinds) {
    if (strcmp(each.name, words[1]) == 0) kind = &each;
  }
  if (kind == nullptr) return 2;
  pause_time.tv_nsec = atol(words[3]) * 1000;
  make_mutex();
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  sem_init(&semaphore, 0, 0);
  pthread_barrier_init(&barrier, nullptr, 2);
  mtx_init(&c11_mutex, mtx_timed);
  cnd_init(&c11_condition);
  std::thread waiter(be_waiter, std::cref(*kind));
  waiter_thread = waiter.native_handle();
  std::thread first(be_other<0>, std::cref(*kind)), second(be_other<1>, std::cref(*kind));
  to_main.hear();
  to_main.hear();
  for (int round = 0; round < atoi(words[2]); ++round) {
    // Not in turn: what belongs to a round does not fit the next one.
    to_others[round % 3 == 0].tell('g');
    to_main.hear();
    to_main.hear();
  }
  for (const Pipe& other : to_others) other.tell('e');
  to_waiter.tell('e');
  for (std::thread* thread : {&waiter, &first, &second}) thread->join();
}
