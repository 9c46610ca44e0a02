// A library for LD_PRELOAD whose clocks are a day ahead and ten times as fast, as those of programs for tests of dates.
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace {

constexpr time_t kDay = 86'400;
constexpr long kTimes = 10;
constexpr long kNsPerSecond = 1'000'000'000;

}  // namespace

extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t clock,
                                                                    timespec* time) noexcept {
  const long result = syscall(SYS_clock_gettime, clock, time);
  if (result != 0) return static_cast<int>(result);
  const long ns = time->tv_nsec * kTimes;
  time->tv_sec = time->tv_sec * kTimes + ns / kNsPerSecond + kDay;
  time->tv_nsec = ns % kNsPerSecond;
  return 0;
}
