// Spans as fast as two threads can make them: span_storm SPANS. Prints how many there would be in a
// second if each thread had a CPU of its own, and how many there were.
#include <sampan/markers.h>

#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

int main(int, char** words) {
  const int spans = std::atoi(words[1]) / 2;
  const auto say = [spans] {
    for (int i = 0; i < spans; ++i) {
      sampan_span_begin("storm");
      sampan_span_end();
    }
  };
  const double wall = seconds(CLOCK_MONOTONIC);
  const double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
  std::thread other(say);
  say();
  other.join();
  std::printf("%.0f %.0f\n", 2 * spans / ((seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) / 2),
              2 * spans / (seconds(CLOCK_MONOTONIC) - wall));
  return 0;
}
