// Threads that stay in known functions, 50 calls deep, for `sampan dump`. In C, so that it can be built
// with any C library. Prints "ready", and ends at the end of its standard input.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { kDepth = 50 };
#define FRAME __attribute__((noinline, noclone))

static volatile unsigned long counter;
static int pipe_ends[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t begun;

FRAME void spin(void) {
  for (;;) ++counter;  // spins here
}
static inline __attribute__((always_inline)) void read_byte(int fd) {
  char byte;
  counter += (unsigned long)read(fd, &byte, 1);  // reads here
}
FRAME void wait_for_pipe(void) {
  read_byte(pipe_ends[0]);
  ++counter;
}
FRAME void wait_for_events(void) {
  struct epoll_event event = {EPOLLIN, {0}};
  const int epoll = epoll_create1(0);
  epoll_ctl(epoll, EPOLL_CTL_ADD, pipe_ends[0], &event);
  epoll_wait(epoll, &event, 1, -1);
  ++counter;
}
FRAME void wait_for_time(void) {
  const struct timespec time = {1000, 0};
  nanosleep(&time, NULL);
  ++counter;
}
FRAME void wait_for_condition(void) {
  pthread_mutex_lock(&mutex);
  pthread_cond_wait(&condition, &mutex);
  ++counter;
}

FRAME void descend(int depth, void (*habit)(void)) {
  volatile char room[48];
  room[depth % 48] = 1;
  if (depth > 1) {
    descend(depth - 1, habit);
  } else {
    sem_post(&begun);
    habit();
  }
  counter += (unsigned long)room[0];
}

static struct {
  const char *name;
  void (*habit)(void);
} threads[] = {{"spinner", spin},
               {"reader", wait_for_pipe},
               {"poller", wait_for_events},
               {"sleeper", wait_for_time},
               {"waiter", wait_for_condition}};
enum { kThreads = sizeof threads / sizeof threads[0] };

FRAME void *work(void *index) {
  const long i = (long)index;
  pthread_setname_np(pthread_self(), threads[i].name);
  descend(kDepth, threads[i].habit);
  return NULL;
}

int main(void) {
  sem_init(&begun, 0, 0);
  if (pipe(pipe_ends) != 0) return 1;
  for (long i = 0; i < kThreads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, (void *)i) != 0) return 1;
  }
  for (int i = 0; i < kThreads; ++i) sem_wait(&begun);
  puts("ready");
  fflush(stdout);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  return 0;
}
