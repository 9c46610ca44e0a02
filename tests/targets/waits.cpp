// Threads of known habits: each spends the run in one kind of wait, on CPU, or alternates between
// both. At the end each prints how long it lived, used CPU, and waited for a CPU, as
// "life NAME SECONDS", "cpu NAME SECONDS", "queued NAME SECONDS".
//
//   waits [SECONDS [IDLE]]    IDLE: so many more threads that wait for the end, named "idle"
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "work.h"

namespace {

double run_seconds = 3;
int pipe_ends[2];
int event;
pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t idle_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t idle_over = PTHREAD_COND_INITIALIZER;
bool over = false;

void sleep_for(double seconds) {
  const timespec time{
      static_cast<time_t>(seconds),
      static_cast<long>((seconds - static_cast<double>(static_cast<long>(seconds))) * 1e9)};
  nanosleep(&time, nullptr);
}

// Not inlined, and with work after the call, so that each has a frame of its own.
#define HABIT __attribute__((noinline)) int

HABIT spinning() {
  const double end = work::wall() + run_seconds;
  while (work::wall() < end) work::burn(0.001);
  return 1;
}
HABIT sleeping() {
  sleep_for(run_seconds);
  return 2;
}
HABIT reading() {
  char byte;
  return static_cast<int>(read(pipe_ends[0], &byte, 1)) + 3;
}
HABIT polling() {
  const int poll = epoll_create1(0);
  epoll_event watched{};
  watched.events = EPOLLIN;
  epoll_ctl(poll, EPOLL_CTL_ADD, event, &watched);
  return epoll_wait(poll, &watched, 1, -1) + 4;
}
HABIT conditional() {
  pthread_mutex_lock(&idle_mutex);
  while (!over) pthread_cond_wait(&idle_over, &idle_mutex);
  return pthread_mutex_unlock(&idle_mutex) + 5;
}
HABIT locking() {
  pthread_mutex_lock(&held);
  return pthread_mutex_unlock(&held) + 6;
}
HABIT sixty_forty() {
  const double end = work::wall() + run_seconds;
  while (work::wall() < end) {
    work::burn(0.03);
    sleep_for(0.02);
  }
  return 7;
}

struct Habit {
  const char* name;
  int (*run)();
  double life = 0, cpu = 0, queued = 0;
};

void* live(void* argument) {
  Habit& habit = *static_cast<Habit*>(argument);
  pthread_setname_np(pthread_self(), habit.name);
  // On a busy machine a new thread waits for its first turn: before its life.
  const double begin = work::wall(), queued = work::queued();
  asm volatile("" : : "r"(habit.run()));
  habit.queued = work::queued() - queued;
  habit.cpu = work::thread_cpu();
  habit.life = work::wall() - begin;
  return nullptr;
}

void* be_idle(void*) {
  pthread_setname_np(pthread_self(), "idle");
  asm volatile("" : : "r"(reading()));
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) run_seconds = std::atof(argv[1]);
  const auto idle = static_cast<size_t>(argc > 2 ? std::atoi(argv[2]) : 0);
  if (pipe(pipe_ends) != 0) return 1;
  event = eventfd(0, 0);
  pthread_mutex_lock(&held);

  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 65536);
  std::vector<pthread_t> idle_threads(idle);
  for (pthread_t& thread : idle_threads) pthread_create(&thread, &small, be_idle, nullptr);

  Habit habits[] = {{"spinning", spinning}, {"sleeping", sleeping},       {"reading", reading},
                    {"polling", polling},   {"conditional", conditional}, {"locking", locking},
                    {"60-40", sixty_forty}};
  constexpr size_t kHabits = sizeof habits / sizeof *habits;
  pthread_t threads[kHabits];
  for (size_t i = 0; i < kHabits; ++i) pthread_create(&threads[i], nullptr, live, &habits[i]);
  sleep_for(run_seconds);

  pthread_mutex_unlock(&held);
  pthread_mutex_lock(&idle_mutex);
  over = true;
  pthread_cond_broadcast(&idle_over);
  pthread_mutex_unlock(&idle_mutex);
  close(pipe_ends[1]);  // the end of the file, for all readers
  const uint64_t one = 1;
  if (write(event, &one, sizeof one) != sizeof one) return 1;

  for (size_t i = 0; i < kHabits; ++i) {
    pthread_join(threads[i], nullptr);
    const Habit& habit = habits[i];
    std::printf("life %s %.6f\ncpu %s %.6f\nqueued %s %.6f\n", habit.name, habit.life, habit.name,
                habit.cpu, habit.name, habit.queued);
  }
  for (const pthread_t thread : idle_threads) pthread_join(thread, nullptr);
}
