// How long something outside kept a computing thread from running. Reads the clock without pause;
// each step of more than 5 us is an absence.
//
//   gaps SECONDS     prints "ABSENCES MEDIAN_US SUM_US CPU_SECONDS"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/clock.h"

int main(int argc, char** argv) {
  constexpr uint64_t kAbsence = 5'000;
  const double seconds = argc > 1 ? std::atof(argv[1]) : 5;
  std::vector<uint64_t> absences;
  absences.reserve(1 << 20);
  const uint64_t begin = sampan::monotonic_ns();
  const uint64_t end = begin + static_cast<uint64_t>(seconds * 1e9);
  uint64_t sum = 0;
  for (uint64_t last = begin; last < end;) {
    const uint64_t now = sampan::monotonic_ns();
    if (now - last > kAbsence) {
      absences.push_back(now - last);
      sum += now - last;
    }
    last = now;
  }
  std::sort(absences.begin(), absences.end());
  const uint64_t median = absences.empty() ? 0 : absences[absences.size() / 2];
  std::printf("%zu %.1f %.1f %.6f\n", absences.size(), static_cast<double>(median) / 1e3,
              static_cast<double>(sum) / 1e3,
              static_cast<double>(sampan::read_clock_ns(CLOCK_PROCESS_CPUTIME_ID)) / 1e9);
}
