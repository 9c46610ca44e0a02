// Prints what the functions of locks return, in all the situations that their manual pages describe. The output is the
// same in every run.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

constexpr timespec kLongAgo{.tv_sec = 1, .tv_nsec = 0};
constexpr timespec kInvalid{.tv_sec = 1, .tv_nsec = -1};

timespec soon(clockid_t clock, long ms) {
  timespec end{};
  clock_gettime(clock, &end);
  end.tv_nsec += ms * 1'000'000;
  end.tv_sec += end.tv_nsec / 1'000'000'000;
  end.tv_nsec %= 1'000'000'000;
  return end;
}

void say(const char* what, int result) {
  printf("%s: %s\n", what,
         result == 0    ? "0"
         : result == -1 ? strerror(errno)
                        : strerrordesc_np(result));
}

template <typename F>
void in_thread(F&& body) {
  std::thread(body).join();
}

struct Attributes {
  pthread_mutexattr_t value;
  Attributes(int type, bool robust = false, int protocol = PTHREAD_PRIO_NONE) {
    pthread_mutexattr_init(&value);
    pthread_mutexattr_settype(&value, type);
    if (robust) pthread_mutexattr_setrobust(&value, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_setprotocol(&value, protocol);
  }
};

void mutexes() {
  const struct {
    const char* name;
    Attributes attributes;
  } kinds[] = {{"normal", {PTHREAD_MUTEX_NORMAL}},
               {"errorcheck", {PTHREAD_MUTEX_ERRORCHECK}},
               {"recursive", {PTHREAD_MUTEX_RECURSIVE}},
               {"adaptive", {PTHREAD_MUTEX_ADAPTIVE_NP}},
               {"robust", {PTHREAD_MUTEX_NORMAL, true}},
               {"robust errorcheck", {PTHREAD_MUTEX_ERRORCHECK, true}},
               {"robust recursive", {PTHREAD_MUTEX_RECURSIVE, true}},
               {"inheriting", {PTHREAD_MUTEX_NORMAL, false, PTHREAD_PRIO_INHERIT}},
               {"inheriting errorcheck", {PTHREAD_MUTEX_ERRORCHECK, false, PTHREAD_PRIO_INHERIT}},
               {"inheriting robust", {PTHREAD_MUTEX_NORMAL, true, PTHREAD_PRIO_INHERIT}}};
  for (const auto& kind : kinds) {
    printf("-- mutex, %s\n", kind.name);
    pthread_mutex_t mutex;
    say("init", pthread_mutex_init(&mutex, &kind.attributes.value));
    say("lock", pthread_mutex_lock(&mutex));
    say("trylock", pthread_mutex_trylock(&mutex));
    const bool counts = strstr(kind.name, "recursive") != nullptr;
    if (counts) say("unlock", pthread_mutex_unlock(&mutex));
    if (counts || strstr(kind.name, "errorcheck") != nullptr) {
      const int again = pthread_mutex_lock(&mutex);
      say("lock again", again);
      if (again == 0) say("unlock", pthread_mutex_unlock(&mutex));
    }
    in_thread([&] {
      say("another's trylock", pthread_mutex_trylock(&mutex));
      say("another's timedlock, late", pthread_mutex_timedlock(&mutex, &kLongAgo));
      const timespec end = soon(CLOCK_REALTIME, 20);
      say("another's timedlock", pthread_mutex_timedlock(&mutex, &end));
      say("another's timedlock, invalid", pthread_mutex_timedlock(&mutex, &kInvalid));
      const timespec other = soon(CLOCK_MONOTONIC, 20);
      say("another's clocklock", pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &other));
      say("another's clocklock, bad clock",
          pthread_mutex_clocklock(&mutex, CLOCK_PROCESS_CPUTIME_ID, &other));
      if (strstr(kind.name, "normal") == nullptr && strstr(kind.name, "adaptive") == nullptr &&
          strcmp(kind.name, "inheriting") != 0) {
        say("another's unlock", pthread_mutex_unlock(&mutex));
      }
    });
    say("unlock", pthread_mutex_unlock(&mutex));
    say("free: timedlock, invalid", pthread_mutex_timedlock(&mutex, &kInvalid));
    say("unlock", pthread_mutex_unlock(&mutex));
    say("free: clocklock, bad clock",
        pthread_mutex_clocklock(&mutex, CLOCK_PROCESS_CPUTIME_ID, &kLongAgo));
    if (strstr(kind.name, "robust") != nullptr) {
      in_thread([&] { say("lock, and end", pthread_mutex_lock(&mutex)); });
      say("lock of the dead", pthread_mutex_lock(&mutex));
      say("consistent", pthread_mutex_consistent(&mutex));
      say("unlock", pthread_mutex_unlock(&mutex));
      // Its waiter waits before the owner dies.
      std::atomic<bool> held = false;
      std::thread owner([&] {
        pthread_mutex_lock(&mutex);
        held = true;
        usleep(50'000);
      });
      while (!held) usleep(100);
      say("lock that the owner leaves", pthread_mutex_lock(&mutex));
      owner.join();
      say("unlock", pthread_mutex_unlock(&mutex));
      say("lock of the inconsistent", pthread_mutex_lock(&mutex));
      say("timedlock of the inconsistent", pthread_mutex_timedlock(&mutex, &kLongAgo));
    }
    say("destroy", pthread_mutex_destroy(&mutex));
  }
}

void rwlocks() {
  printf("-- read-write lock\n");
  pthread_rwlock_t lock;
  say("init", pthread_rwlock_init(&lock, nullptr));
  say("wrlock", pthread_rwlock_wrlock(&lock));
  say("rdlock of the writer", pthread_rwlock_rdlock(&lock));
  say("wrlock of the writer", pthread_rwlock_wrlock(&lock));
  const timespec end = soon(CLOCK_REALTIME, 20);
  const timespec other = soon(CLOCK_MONOTONIC, 20);
  say("timedrdlock of the writer", pthread_rwlock_timedrdlock(&lock, &end));
  in_thread([&] {
    say("another's tryrdlock", pthread_rwlock_tryrdlock(&lock));
    say("another's timedrdlock", pthread_rwlock_timedrdlock(&lock, &end));
    say("another's timedwrlock", pthread_rwlock_timedwrlock(&lock, &end));
    say("another's clockrdlock", pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &other));
    say("another's clockwrlock", pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &other));
    say("another's timedwrlock, invalid", pthread_rwlock_timedwrlock(&lock, &kInvalid));
  });
  say("unlock", pthread_rwlock_unlock(&lock));
  say("free: timedrdlock, invalid", pthread_rwlock_timedrdlock(&lock, &kInvalid));
  say("free: timedwrlock, invalid", pthread_rwlock_timedwrlock(&lock, &kInvalid));
  say("free: clockrdlock, bad clock",
      pthread_rwlock_clockrdlock(&lock, CLOCK_PROCESS_CPUTIME_ID, &end));
  say("free: timedrdlock", pthread_rwlock_timedrdlock(&lock, &kLongAgo));
  say("rdlock", pthread_rwlock_rdlock(&lock));
  in_thread([&] {
    say("another's timedwrlock", pthread_rwlock_timedwrlock(&lock, &kLongAgo));
    say("another's rdlock", pthread_rwlock_rdlock(&lock));
    say("unlock", pthread_rwlock_unlock(&lock));
  });
  say("unlock", pthread_rwlock_unlock(&lock));
  say("unlock", pthread_rwlock_unlock(&lock));
  say("destroy", pthread_rwlock_destroy(&lock));
  pthread_spinlock_t spin;
  say("spin init", pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE));
  say("spin lock", pthread_spin_lock(&spin));
  say("spin trylock", pthread_spin_trylock(&spin));
  say("spin unlock", pthread_spin_unlock(&spin));
  say("spin destroy", pthread_spin_destroy(&spin));
}

void conditions() {
  printf("-- condition\n");
  pthread_cond_t condition;
  pthread_mutex_t mutex;
  const Attributes checked(PTHREAD_MUTEX_ERRORCHECK);
  say("init", pthread_cond_init(&condition, nullptr));
  pthread_mutex_init(&mutex, &checked.value);
  say("signal", pthread_cond_signal(&condition));
  say("wait without the mutex", pthread_cond_wait(&condition, &mutex));
  pthread_mutex_lock(&mutex);
  say("timedwait, late", pthread_cond_timedwait(&condition, &mutex, &kLongAgo));
  say("timedwait, invalid", pthread_cond_timedwait(&condition, &mutex, &kInvalid));
  const timespec end = soon(CLOCK_MONOTONIC, 20);
  say("clockwait", pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &end));
  say("clockwait, bad clock",
      pthread_cond_clockwait(&condition, &mutex, CLOCK_PROCESS_CPUTIME_ID, &end));
  say("still held", pthread_mutex_unlock(&mutex));
  bool ready = false;
  std::thread waiter([&] {
    pthread_mutex_lock(&mutex);
    int result = 0;
    while (!ready && result == 0) result = pthread_cond_wait(&condition, &mutex);
    say("wait", result);
    say("unlock", pthread_mutex_unlock(&mutex));
  });
  usleep(20'000);
  pthread_mutex_lock(&mutex);
  ready = true;
  say("broadcast", pthread_cond_broadcast(&condition));
  pthread_mutex_unlock(&mutex);
  waiter.join();
  say("destroy", pthread_cond_destroy(&condition));
  pthread_mutex_destroy(&mutex);
}

template <typename Wait>
void cancelled(const char* what, Wait&& wait, int type = PTHREAD_CANCEL_DEFERRED) {
  static std::atomic<bool> begun, cleaned;
  begun = cleaned = false;
  static void (*body)(void*);
  body = [](void* argument) {
    pthread_cleanup_push([](void*) { cleaned = true; }, nullptr);
    begun = true;
    (*static_cast<std::remove_reference_t<Wait>*>(argument))();
    pthread_cleanup_pop(0);
  };
  pthread_t thread;
  struct Start {
    void* argument;
    int type;
  } start{&wait, type};
  pthread_create(
      &thread, nullptr,
      [](void* given) -> void* {
        const Start its = *static_cast<Start*>(given);
        pthread_setcanceltype(its.type, nullptr);
        body(its.argument);
        return nullptr;
      },
      &start);
  while (!begun) usleep(100);
  usleep(20'000);
  pthread_cancel(thread);
  void* result = nullptr;
  pthread_join(thread, &result);
  printf("%s: %s, %s\n", what, result == PTHREAD_CANCELED ? "cancelled" : "returned",
         cleaned ? "cleaned up" : "not cleaned up");
}

void cancellation() {
  printf("-- cancellation\n");
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  cancelled("in pthread_cond_wait", [&] {
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(
        [](void* held) { pthread_mutex_unlock(static_cast<pthread_mutex_t*>(held)); }, &mutex);
    for (;;) pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(0);
  });
  say("the mutex afterwards", pthread_mutex_trylock(&mutex));
  pthread_mutex_unlock(&mutex);
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  cancelled("in sem_wait", [&] { sem_wait(&semaphore); });
  cancelled(
      "in sem_wait, asynchronous", [&] { sem_wait(&semaphore); }, PTHREAD_CANCEL_ASYNCHRONOUS);
  sem_post(&semaphore);
  cancelled("in sem_wait of a free one", [&] {
    pthread_cancel(pthread_self());
    sem_wait(&semaphore);
  });
  int value = -1;
  sem_getvalue(&semaphore, &value);
  printf("which has %d then\n", value);
  pthread_mutex_lock(&mutex);
  std::thread([&] { usleep(60'000); }).join();
  cancelled("in pthread_mutex_timedlock, no point of cancellation", [&] {
    const timespec end = soon(CLOCK_REALTIME, 50);
    pthread_mutex_timedlock(&mutex, &end);
  });
  pthread_mutex_unlock(&mutex);
}

sigjmp_buf jump;

void semaphores() {
  printf("-- semaphore\n");
  sem_t semaphore;
  say("init", sem_init(&semaphore, 0, 1));
  errno = 77;
  say("wait", sem_wait(&semaphore));
  printf("errno %d\n", errno);
  say("trywait", sem_trywait(&semaphore));
  say("timedwait, late", sem_timedwait(&semaphore, &kLongAgo));
  say("timedwait, invalid", sem_timedwait(&semaphore, &kInvalid));
  const timespec end = soon(CLOCK_MONOTONIC, 20);
  say("clockwait", sem_clockwait(&semaphore, CLOCK_MONOTONIC, &end));
  say("clockwait, bad clock", sem_clockwait(&semaphore, CLOCK_PROCESS_CPUTIME_ID, &end));
  errno = 77;
  int posted = -1;
  std::thread poster([&] {
    usleep(20'000);
    posted = sem_post(&semaphore);
  });
  say("wait", sem_wait(&semaphore));
  printf("errno %d\n", errno);
  poster.join();
  say("post", posted);
  say("post", sem_post(&semaphore));
  say("free: timedwait, invalid", sem_timedwait(&semaphore, &kInvalid));
  say("free: clockwait, bad clock", sem_clockwait(&semaphore, CLOCK_PROCESS_CPUTIME_ID, &end));
  say("wait", sem_wait(&semaphore));

  struct sigaction action {};
  action.sa_handler = [](int) {};
  sigaction(SIGALRM, &action, nullptr);
  // More than once: a thread without a CPU may get the first before it waits.
  ualarm(20'000, 20'000);
  say("wait, interrupted", sem_wait(&semaphore));
  ualarm(0, 0);
  action.sa_handler = [](int) { siglongjmp(jump, 1); };
  sigaction(SIGALRM, &action, nullptr);
  static int jumps;
  for (jumps = 0; jumps < 20; ++jumps) {
    if (sigsetjmp(jump, 1) == 0) {
      ualarm(2'000, 0);
      sem_wait(&semaphore);
    }
  }
  printf("jumped out\n");
  static sem_t posted_by_handler;
  sem_init(&posted_by_handler, 0, 0);
  action.sa_handler = [](int) { sem_post(&posted_by_handler); };
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  ualarm(20'000, 0);
  say("wait for a handler", sem_wait(&posted_by_handler));
  sem_t full;
  sem_init(&full, 0, SEM_VALUE_MAX);
  say("post of a full one", sem_post(&full));
  say("destroy", sem_destroy(&semaphore));
}

void barriers() {
  printf("-- barrier\n");
  pthread_barrier_t barrier;
  say("init of none", pthread_barrier_init(&barrier, nullptr, 0));
  say("init", pthread_barrier_init(&barrier, nullptr, 3));
  std::atomic<int> serial = 0, others = 0;
  for (int round = 0; round < 50; ++round) {
    std::thread threads[3];
    for (std::thread& thread : threads) {
      thread = std::thread([&] {
        const int result = pthread_barrier_wait(&barrier);
        serial += result == PTHREAD_BARRIER_SERIAL_THREAD;
        others += result == 0;
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  printf("%d serial, %d others\n", serial.load(), others.load());
  say("destroy", pthread_barrier_destroy(&barrier));
}

void c11() {
  printf("-- C11\n");
  mtx_t mutex;
  printf("init %d\n", mtx_init(&mutex, mtx_timed | mtx_recursive));
  printf("lock %d, again %d\n", mtx_lock(&mutex), mtx_lock(&mutex));
  in_thread([&] {
    const timespec end = soon(CLOCK_REALTIME, 20);
    printf("another's trylock %d, timedlock %d\n", mtx_trylock(&mutex),
           mtx_timedlock(&mutex, &end));
  });
  printf("unlock %d, %d\n", mtx_unlock(&mutex), mtx_unlock(&mutex));
  mtx_destroy(&mutex);
  mtx_init(&mutex, mtx_plain);
  cnd_t condition;
  printf("init %d\n", cnd_init(&condition));
  mtx_lock(&mutex);
  printf("timedwait %d\n", cnd_timedwait(&condition, &mutex, &kLongAgo));
  printf("signal %d, broadcast %d, unlock %d\n", cnd_signal(&condition), cnd_broadcast(&condition),
         mtx_unlock(&mutex));
  cnd_destroy(&condition);
  mtx_destroy(&mutex);
}

// A mutex that its last user frees at once: nothing may touch it after its release.
void freed_at_once() {
  printf("-- freed\n");
  for (int round = 0; round < 2'000; ++round) {
    auto* mutex = new pthread_mutex_t;
    pthread_mutex_init(mutex, nullptr);
    pthread_mutex_lock(mutex);
    std::thread last([mutex] {
      pthread_mutex_lock(mutex);
      pthread_mutex_unlock(mutex);
      pthread_mutex_destroy(mutex);
      memset(static_cast<void*>(mutex), 0xa5, sizeof *mutex);
      delete mutex;
    });
    if (round % 2 == 0) sched_yield();
    pthread_mutex_unlock(mutex);
    last.join();
  }
}

void forked() {
  printf("-- forked\n");
  fflush(stdout);
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static std::atomic<bool> go;
  pthread_mutex_lock(&mutex);
  std::thread waiter([] {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  });
  usleep(20'000);
  const pid_t child = fork();
  if (child == 0) {
    say("unlock", pthread_mutex_unlock(&mutex));
    std::thread([] {
      say("lock", pthread_mutex_lock(&mutex));
      go = true;
      usleep(20'000);
      pthread_mutex_unlock(&mutex);
    }).detach();
    while (!go) usleep(100);
    say("lock", pthread_mutex_lock(&mutex));
    fflush(stdout);
    _exit(pthread_mutex_unlock(&mutex));
  }
  pthread_mutex_unlock(&mutex);
  waiter.join();
  int status = 0;
  waitpid(child, &status, 0);
  printf("child: %d\n", status);
}

}  // namespace

int main() {
  mutexes();
  rwlocks();
  conditions();
  cancellation();
  semaphores();
  barriers();
  c11();
  freed_at_once();
  forked();
}
