#include <gtest/gtest.h>

#include "importers/imported.h"
#include "profile/unit.h"

namespace sampan::importers {
namespace {

// The forms that perf of several versions prints.
constexpr std::string_view kText = R"(# a comment
my worker 100/101 [002]    10.000500:    4000000 cpu-clock:pppH:
	    7f0000001234 work(void*)+0x12 (/usr/lib/libwork.so (deleted))
	          401000 main+0x20 (/usr/bin/my app)

my worker 100/101 [000]    10.004500:    4000000 cpu-clock:pppH:
	          402000 inner (inlined)
	          402000 outer+0x4 (/usr/bin/my app)
	          401000 main+0x20 (/usr/bin/my app)

swapper     7 [001]    10.005000:    1000000 cpu-clock:pppH: 
	ffffffff81000000 [unknown] ([kernel.kallsyms])
	               0 [unknown] ([unknown])

my worker 100/101 [000]    10.006000:         17 cycles:P:
	          401000 main+0x20 (/usr/bin/my app)

)";

TEST(PerfScript, SamplesHaveThreadsTimesAndStacks) {
  const profile::Profile profile = load_bytes(kText);
  EXPECT_EQ(profile.session.unit, "");
  ASSERT_TRUE(profile.end);
  EXPECT_EQ(profile.end->note,
            "1 sample of the event cycles left out: --weight cycles imports them");
  const auto stacks = stacks_of(profile);
  ASSERT_EQ(stacks.size(), 3u);
  EXPECT_EQ(stacks.at("my worker;main;work(void*)"), (Sum{1, 4'000'000}));
  EXPECT_EQ(stacks.at("my worker;main;outer;inner"), (Sum{1, 4'000'000}));
  EXPECT_EQ(stacks.at("swapper;[unknown];[unknown in [kernel.kallsyms]]"), (Sum{1, 1'000'000}));
  EXPECT_EQ(profile.samples[0].time_ns, 0u);
  EXPECT_EQ(profile.samples[1].time_ns, 4'000'000u);
  ASSERT_EQ(profile.threads.size(), 2u);
  EXPECT_EQ(profile.threads[0].tid, 101);
  EXPECT_EQ(profile.processes[0].pid, 100);
  EXPECT_EQ(profile.processes[1].pid, 7);
}

TEST(PerfScript, ModulesAreThoseOfTheCode) {
  const profile::Profile profile = load_bytes(kText);
  for (const profile::Function& function : profile.functions) {
    const std::string& name = profile.strings[function.name];
    const std::string module =
        function.module == profile::kNone ? "" : profile.modules[function.module].path;
    if (name == "work(void*)") {
      EXPECT_EQ(module, "/usr/lib/libwork.so");
    } else if (name == "inner") {
      EXPECT_EQ(module, "/usr/bin/my app");
    }
  }
}

TEST(PerfScript, AnotherEventIsCounted) {
  const profile::Profile profile = load_bytes(kText, "", {.weight = "cycles"});
  EXPECT_EQ(profile.session.unit, "cycles");
  EXPECT_EQ(stacks_of(profile).at("my worker;main"), (Sum{1, 17 * profile::kWeightOfOne}));
  EXPECT_EQ(error_of(kText, "", {.weight = "branches"}),
            "it has no event 'branches' (it has: cpu-clock, cycles)");
}

TEST(PerfScript, PeriodsMayBeMissing) {
  constexpr std::string_view kBare =
      "app 9 1.000000: cycles: \n\t 401000 main (/app)\n\napp 9 1.500000: cycles:\n\t 401000 main "
      "(/app)\n";
  const profile::Profile counted = load_bytes(kBare);
  EXPECT_EQ(counted.session.unit, "samples");
  EXPECT_EQ(stacks_of(counted).at("app;main"), (Sum{2, 2 * profile::kWeightOfOne}));
  const profile::Profile timed = load_bytes(kBare, "", {.rate_hz = 1000});
  EXPECT_EQ(timed.session.unit, "");
  EXPECT_EQ(stacks_of(timed).at("app;main"), (Sum{2, 2'000'000}));
}

TEST(PerfScript, OtherTextIsNone) {
  EXPECT_EQ(error_of("Dear reader,\nthis is a letter: 12.5: no\n", "perf-script"),
            "it has no samples");
  EXPECT_NE(error_of("Dear reader,\nthis is a letter\n"), "");
}

}  // namespace
}  // namespace sampan::importers
