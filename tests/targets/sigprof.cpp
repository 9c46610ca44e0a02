// Programs that use SIGPROF themselves. Each prints what it saw, which must not depend on whether
// sampan samples it, and "cpu SECONDS" at the end.
//
//   sigprof KIND    blocked all-blocked handler itimer itimer-off default ignore dies sigwait
//                   signalfd reset
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "work.h"

namespace {

constexpr double kSeconds = 0.25;
std::atomic<unsigned> count = 0;

void on_signal(int) {
  count.fetch_add(1);
}

void set_timer(suseconds_t microseconds) {
  const itimerval every{{0, microseconds}, {0, microseconds}};
  setitimer(ITIMER_PROF, &every, nullptr);
}

std::atomic<bool> stop = false;

void* burn_until_stopped(void*) {
  pthread_setname_np(pthread_self(), "worker");
  while (!stop.load()) work::burn(0.001);
  return nullptr;
}

void* burn_in_thread(void*) {
  pthread_setname_np(pthread_self(), "worker");
  work::burn(kSeconds);
  return nullptr;
}

void burn_both() {
  pthread_t thread;
  pthread_create(&thread, nullptr, burn_in_thread, nullptr);
  work::burn(kSeconds);
  pthread_join(thread, nullptr);
}

void block(bool all) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPROF);
  if (all) sigfillset(&set);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  burn_both();
  sigset_t now;
  pthread_sigmask(SIG_BLOCK, nullptr, &now);
  std::printf("blocked %d\n", sigismember(&now, SIGPROF));
}

void handle() {
  signal(SIGPROF, on_signal);
  pthread_t thread;
  pthread_create(&thread, nullptr, burn_until_stopped, nullptr);
  for (int i = 0; i < 300; ++i) {
    work::burn(kSeconds / 300);
    if (i % 3 == 0) raise(SIGPROF);
    if (i % 3 == 1) kill(getpid(), SIGPROF);
    if (i % 3 == 2) pthread_kill(thread, SIGPROF);
    // Standard signals coalesce: wait for this one.
    while (count.load() != static_cast<unsigned>(i) + 1) work::spin(1, 100);
  }
  stop.store(true);
  pthread_join(thread, nullptr);
  std::printf("handled %u\n", count.load());
}

// Signals by the program's own CPU timer, one for each 10 ms at most.
void time_itself(bool then_stop) {
  signal(SIGPROF, on_signal);
  set_timer(10000);
  work::burn(2 * kSeconds);
  set_timer(0);
  const unsigned seen = count.load();
  std::printf("itimer %u\n", seen);
  if (!then_stop) return;
  signal(SIGPROF, SIG_DFL);
  work::burn(2 * kSeconds);
  std::printf("late %u\n", count.load() - seen);
}

void wait_for_them() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPROF);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  pthread_t thread;
  pthread_create(&thread, nullptr, burn_in_thread, nullptr);
  unsigned waited = 0;
  for (int i = 0; i < 100; ++i) {
    work::burn(kSeconds / 100);
    kill(getpid(), SIGPROF);
    siginfo_t info;
    if (sigwaitinfo(&set, &info) == SIGPROF && info.si_pid == getpid()) ++waited;
  }
  pthread_join(thread, nullptr);
  std::printf("waited %u\n", waited);
}

void read_them() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPROF);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  const int fd = signalfd(-1, &set, SFD_CLOEXEC);
  unsigned got = 0;
  for (int i = 0; i < 100; ++i) {
    work::burn(kSeconds / 100);
    raise(SIGPROF);
    signalfd_siginfo info;
    if (read(fd, &info, sizeof info) == sizeof info && info.ssi_signo == SIGPROF) ++got;
  }
  std::printf("read %u\n", got);
}

void reset() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGPROF, &action, nullptr);
  burn_both();
  raise(SIGPROF);
  struct sigaction now;
  sigaction(SIGPROF, nullptr, &now);
  std::printf("handled %u then default %d\n", count.load(), now.sa_handler == SIG_DFL);
  burn_both();
}

}  // namespace

int main(int argc, char** argv) {
  const char* kind = argc > 1 ? argv[1] : "";
  const auto is = [&](const char* name) { return std::strcmp(kind, name) == 0; };
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (is("blocked")) block(false);
  if (is("all-blocked")) block(true);
  if (is("handler")) handle();
  if (is("itimer")) time_itself(false);
  if (is("itimer-off")) time_itself(true);
  if (is("sigwait")) wait_for_them();
  if (is("signalfd")) read_them();
  if (is("reset")) reset();
  if (is("default")) {
    std::printf("before %d\n", signal(SIGPROF, SIG_DFL) == SIG_DFL);
    burn_both();
  }
  if (is("ignore")) {
    signal(SIGPROF, SIG_IGN);
    burn_both();
    for (int i = 0; i < 100; ++i) raise(SIGPROF);
    std::printf("ignored %d\n", signal(SIGPROF, SIG_IGN) == SIG_IGN);
  }
  std::printf("cpu %.6f\n", work::process_cpu());
  std::fflush(stdout);
  if (is("dies")) {
    burn_both();
    kill(getpid(), SIGPROF);
    std::printf("survived\n");
  }
}
