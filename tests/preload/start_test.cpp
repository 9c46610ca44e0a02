// Before main the shim calls nothing that the program may define itself: it may not be ready.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/units.h"
#include "fake_collector.h"

namespace sampan::preload::test {
namespace {

const std::vector<std::string> kProgram = {SAMPAN_TARGETS "/target_unready"};

TEST(Start, InertNothingOfTheProgramIsCalledBeforeMain) {
  for (const std::string library : {SAMPAN_SHIM, SAMPAN_WRAPPERS}) {
    RunOptions options;
    options.shim = false;
    options.environment = {"LD_PRELOAD=" + library};
    const RunResult result = run_with_shim(kProgram, options);
    EXPECT_EQ(result.status, 0) << result.output;
    EXPECT_EQ(result.output, "ready\n");
  }
}

TEST(Start, SampledNothingOfTheProgramIsCalledBeforeMain) {
  for (const char* library : {SAMPAN_SHIM, SAMPAN_WRAPPERS}) {
    RunOptions options;
    options.library = library;
    options.heap_mean = 1 << 10;
    const RunResult result = run_with_shim(kProgram, options);
    EXPECT_EQ(result.status, 0) << result.output;
    EXPECT_EQ(result.output, "ready\n");
    ASSERT_EQ(result.processes.size(), 1u);
    ASSERT_NE(result.processes[0].main_thread(), nullptr);
    EXPECT_GT(result.processes[0].main_thread()->sampled_cpu_ns(), 200 * kNsPerMs);
  }
}

}  // namespace
}  // namespace sampan::preload::test
