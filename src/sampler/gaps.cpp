#include "sampler/gaps.h"

#include <algorithm>
#include <functional>

#include "base/clock.h"

namespace sampan::sampler {
namespace {

constexpr uint64_t kShortest = 500;  // ns; reading the clock takes a tenth of it

}  // namespace

std::vector<uint64_t> gaps(uint64_t for_ns) {
  std::vector<uint64_t> found;
  found.reserve(1024);
  const uint64_t end_ns = monotonic_ns() + for_ns;
  for (uint64_t last_ns = monotonic_ns(); last_ns < end_ns;) {
    const uint64_t now_ns = monotonic_ns();
    if (now_ns - last_ns > kShortest) found.push_back(now_ns - last_ns);
    last_ns = now_ns;
  }
  std::sort(found.begin(), found.end(), std::greater<>());
  return found;
}

uint64_t median_of_longest(const std::vector<uint64_t>& gaps, size_t count) {
  count = std::min(count, gaps.size());
  return count == 0 ? 0 : gaps[count / 2];
}

}  // namespace sampan::sampler
