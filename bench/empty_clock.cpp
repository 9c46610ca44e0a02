// LD_PRELOAD: the minimum cost of any profiler on the perf clock. Opens on each thread the
// task-clock event that sampan uses above the kernel's tick, at EMPTY_CLOCK_HZ; the signal handler
// only returns.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace {

void arm_this_thread() {
  const char* rate = getenv("EMPTY_CLOCK_HZ");
  if (rate == nullptr) return;
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.sample_period = 1'000'000'000 / std::strtoull(rate, nullptr, 10);
  attributes.wakeup_events = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  const int fd =
      static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (fd < 0) return;
  f_owner_ex owner{F_OWNER_TID, gettid()};
  fcntl(fd, F_SETFL, O_ASYNC);
  fcntl(fd, F_SETSIG, SIGPROF);
  fcntl(fd, F_SETOWN_EX, &owner);
}

[[gnu::constructor]] void start() {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  sigaction(SIGPROF, &action, nullptr);
  arm_this_thread();
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*function)(void*), void* argument) {
  using Function = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "pthread_create"));
  using Job = std::pair<void* (*)(void*), void*>;
  return real(
      thread, attributes,
      [](void* job) -> void* {
        const Job todo = *static_cast<Job*>(job);
        delete static_cast<Job*>(job);
        arm_this_thread();
        return todo.first(todo.second);
      },
      new Job{function, argument});
}
