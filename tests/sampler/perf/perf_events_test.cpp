#include "sampler/perf/perf_events.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "sampler/recorder/source.h"

namespace sampan::sampler {
namespace {

constexpr PerfEvents::Options kOptions{100, false, 1'000'000};

size_t mapped_rings() {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("perf_event") != line.npos;
  return count;
}

// Only `spare` more descriptors can be opened.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t spare) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int next = dup(0);
    close(next);
    const rlimit limit{static_cast<rlim_t>(next) + spare, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(PerfEvents, UnmapsItsRingsWhenDescriptorsRunOut) {
  try {
    PerfEvents events(kOptions);
    if (events.rings().size() < 2) GTEST_SKIP() << "one CPU";
  } catch (const Refused& refused) {
    GTEST_SKIP() << refused.what();
  }
  ASSERT_EQ(mapped_rings(), 0u);
  const DescriptorLimit limit(1);  // room for the first ring only
  EXPECT_THROW(PerfEvents{kOptions}, Refused);
  EXPECT_EQ(mapped_rings(), 0u);
}

}  // namespace
}  // namespace sampan::sampler
