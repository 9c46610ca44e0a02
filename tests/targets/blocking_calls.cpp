// Threads that sleep in every kind of blocking call, with a little CPU between the calls so that
// their timers expire, and a thread that only computes. Prints "CALL EINTR-COUNT CALLS".
//
//   blocking_calls [SECONDS]
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "work.h"

namespace {

constexpr timespec kPause{0, 1'500'000};
std::atomic<bool> stop = false;

timespec deadline() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  time.tv_nsec += kPause.tv_nsec;
  if (time.tv_nsec >= 1'000'000'000) {
    time.tv_nsec -= 1'000'000'000;
    ++time.tv_sec;
  }
  return time;
}

long in_poll() {
  return poll(nullptr, 0, 2);
}
long in_ppoll() {
  sigset_t none;
  sigemptyset(&none);
  return ppoll(nullptr, 0, &kPause, &none);
}
long in_epoll_wait() {
  static const int fd = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event;
  return epoll_wait(fd, &event, 1, 2);
}
long in_select() {
  timeval time{0, 1500};
  return select(0, nullptr, nullptr, nullptr, &time);
}
long in_nanosleep() {
  return nanosleep(&kPause, nullptr);
}
long in_futex() {
  static int word = 0;
  return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &kPause, nullptr, 0);
}
long in_sem_timedwait() {
  static sem_t semaphore;
  const timespec time = deadline();
  return sem_timedwait(&semaphore, &time);
}
long in_semtimedop() {
  static const int id = semget(IPC_PRIVATE, 1, 0600);
  sembuf wait{0, -1, 0};
  return semtimedop(id, &wait, 1, &kPause);
}
long in_sigtimedwait() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  return sigtimedwait(&set, nullptr, &kPause);
}
long in_recv() {
  static int fds[2] = {-1, -1};
  if (fds[0] < 0) {
    socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
    const timeval time{0, 1500};
    setsockopt(fds[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  }
  char byte;
  return read(fds[0], &byte, 1);
}
// More than the socket holds, while another thread reads. A signal would have it return with less.
long in_write() {
  static char block[1 << 19];
  static int fds[2] = {-1, -1};
  static pthread_t reader;
  if (fds[0] < 0) {
    socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
    pthread_create(
        &reader, nullptr,
        [](void*) -> void* {
          static char part[1 << 14];
          while (read(fds[0], part, sizeof part) > 0) {
          }
          return nullptr;
        },
        nullptr);
  }
  if (write(fds[1], block, sizeof block) == sizeof block) return 0;
  errno = EINTR;
  return -1;
}
long in_usleep() {
  return usleep(1500);
}

struct Call {
  const char* name;
  long (*call)();
  unsigned interrupted;
  unsigned calls;
};

void* run(void* argument) {
  Call& call = *static_cast<Call*>(argument);
  pthread_setname_np(pthread_self(), call.name);
  while (!stop.load(std::memory_order_relaxed)) {
    errno = 0;
    if (call.call() < 0 && errno == EINTR) ++call.interrupted;
    ++call.calls;
    work::spin(call.calls, 50000);
  }
  return nullptr;
}

void* compute(void*) {
  pthread_setname_np(pthread_self(), "compute");
  while (!stop.load(std::memory_order_relaxed)) work::burn(0.01);
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  Call calls[] = {{"poll", in_poll, 0, 0},
                  {"ppoll", in_ppoll, 0, 0},
                  {"epoll_wait", in_epoll_wait, 0, 0},
                  {"select", in_select, 0, 0},
                  {"nanosleep", in_nanosleep, 0, 0},
                  {"futex", in_futex, 0, 0},
                  {"sem_timedwait", in_sem_timedwait, 0, 0},
                  {"semtimedop", in_semtimedop, 0, 0},
                  {"sigtimedwait", in_sigtimedwait, 0, 0},
                  {"read", in_recv, 0, 0},
                  {"write", in_write, 0, 0},
                  {"usleep", in_usleep, 0, 0}};
  pthread_t threads[std::size(calls)];
  pthread_t computing;
  pthread_create(&computing, nullptr, compute, nullptr);
  for (size_t i = 0; i < std::size(calls); ++i) {
    pthread_create(&threads[i], nullptr, run, &calls[i]);
  }
  const double end = work::wall() + seconds;
  while (work::wall() < end) usleep(50'000);
  stop.store(true);
  for (size_t i = 0; i < std::size(calls); ++i) {
    pthread_join(threads[i], nullptr);
    std::printf("%s %u %u\n", calls[i].name, calls[i].interrupted, calls[i].calls);
  }
  pthread_join(computing, nullptr);
}
