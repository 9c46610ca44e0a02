// HABITS is the namespace: see habits.h.
#include "habits.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

namespace HABITS {
namespace {

// Something is left to do after each call, so that no call is inlined or becomes a jump.
#ifdef __clang__
#define FRAME [[gnu::noinline]]  // it makes no clones
#else
#define FRAME [[gnu::noinline, gnu::noclone]]
#endif
volatile int after;

// Has a large frame, so that the frame pointer's slot is far from the stack pointer.
FRAME void in_condition() {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  volatile unsigned char room[3000];
  room[1] = 1;
  pthread_mutex_lock(&mutex);
  pthread_cond_wait(&condition, &mutex);
  after = room[1];
}
FRAME void in_epoll() {
  epoll_event event;
  epoll_wait(epoll_create1(0), &event, 1, -1);
  after = 1;
}
FRAME void in_read() {
  int ends[2];
  char byte;
  after = pipe(ends);
  after = static_cast<int>(read(ends[0], &byte, 1));
}
FRAME void in_nanosleep() {
  timespec time{1000, 0};
  nanosleep(&time, nullptr);
  after = 1;
}
FRAME void in_semaphore() {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  sem_wait(&semaphore);
  after = 1;
}
// The stack pointer is not known at compile time: the CFA comes from rbp, with or without frame
// pointers.
FRAME void in_poll(unsigned count) {
  auto* descriptors = static_cast<pollfd*>(__builtin_alloca(count * sizeof(pollfd)));
  for (unsigned i = 0; i < count; ++i) descriptors[i] = {-1, 0, 0};
  poll(descriptors, count, -1);
  after = descriptors[0].fd;
}
// The stack is realigned.
FRAME void in_pause() {
  alignas(64) volatile unsigned char room[128];
  room[0] = 1;
  pause();
  after = room[0];
}

FRAME void inner(int which) {
  switch (which) {
    case 0: in_condition(); break;
    case 1: in_epoll(); break;
    case 2: in_read(); break;
    case 3: in_nanosleep(); break;
    case 4: in_semaphore(); break;
    case 5: in_poll(static_cast<unsigned>(after) + 20); break;
    default: in_pause(); break;
  }
  after = which;
}
FRAME void middle(int which) {
  volatile unsigned char room[200];
  room[which] = 1;
  inner(which);
  after = room[which];
}
template <int kWhich>
FRAME void outer() {
  // Calls through a pointer: the code of the call does not tell what is called.
  void (*volatile next)(int) = middle;
  next(kWhich);
  after = 1;
}

// The first call leaves frames behind where the next callee has its own.
int ends_of_pipe[2];
FRAME int in_read_alone() {
  char byte;
  return static_cast<int>(read(ends_of_pipe[0], &byte, 1)) + 1;
}
FRAME void on_left_overs() {
  after = pipe(ends_of_pipe);
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  int (*volatile next)() = in_read_alone;
  after = next() + static_cast<int>(now.tv_nsec);
}

template <typename Function>
const void* address(Function* function) {
  return reinterpret_cast<const void*>(function);
}
template <int kWhich, typename Leaf>
Habit habit(std::string_view name, Leaf* leaf) {
  return {name,
          outer<kWhich>,
          {address(outer<kWhich>), address(middle), address(inner), address(leaf)}};
}

}  // namespace

const std::vector<Habit>& habits() {
  static const std::vector<Habit> all = {
      habit<0>("futex", in_condition),
      habit<1>("epoll_wait", in_epoll),
      habit<2>("read", in_read),
      habit<3>("clock_nanosleep", in_nanosleep),
      habit<4>("futex", in_semaphore),
      habit<5>("poll", in_poll),
      habit<6>("pause", in_pause),
      {"read", on_left_overs, {address(on_left_overs), address(in_read_alone)}}};
  return all;
}

}  // namespace HABITS
