#include <gtest/gtest.h>

#include "importers/imported.h"
#include "profile/frames.h"

namespace sampan::importers {
namespace {

constexpr std::string_view kProfile = R"json({"nodes":[
 {"id":1,"callFrame":{"functionName":"(root)","url":"","lineNumber":-1,"columnNumber":-1},"children":[2,3,5]},
 {"id":2,"callFrame":{"functionName":"(idle)","url":"","lineNumber":-1,"columnNumber":-1}},
 {"id":3,"callFrame":{"functionName":"","url":"file:///a.js","lineNumber":0,"columnNumber":0},"children":[4]},
 {"id":4,"callFrame":{"functionName":"fib","url":"file:///a.js","lineNumber":6,"columnNumber":13}},
 {"id":5,"callFrame":{"functionName":"(program)","url":"","lineNumber":-1,"columnNumber":-1}}],
"startTime":1000,"endTime":8000,"samples":[3,4,4,2,5],"timeDeltas":[100,1000,2000,500,1500]})json";

TEST(CpuProfile, ASampleLastsUntilTheNextOne) {
  const profile::Profile profile = load_bytes(kProfile);
  const auto stacks = stacks_of(profile);
  EXPECT_EQ(stacks.at("main;(anonymous)"), (Sum{1, 1'000'000}));
  EXPECT_EQ(stacks.at("main;(anonymous);fib"), (Sum{2, 2'500'000}));
  EXPECT_EQ(stacks.at("main;(program)"), (Sum{1, 1'900'000}));  // to the end
  EXPECT_EQ(profile.duration_ns(), 7'000'000u);
}

TEST(CpuProfile, IdleIsAWait) {
  const profile::Profile profile = load_bytes(kProfile);
  EXPECT_EQ(profile.session.clock, "wall");
  ASSERT_EQ(profile.threads.size(), 1u);
  EXPECT_EQ(profile.threads[0].waiting_ns, 1'500'000u);
  EXPECT_EQ(profile.threads[0].sampled_cpu_ns, 5'400'000u);
}

TEST(CpuProfile, FunctionsHaveTheirFileAndLine) {
  const profile::Profile profile = load_bytes(kProfile);
  for (uint32_t i = 0; i < profile.functions.size(); ++i) {
    if (profile::function_name(profile, i) != "fib") continue;
    EXPECT_EQ(profile.strings[profile.functions[i].file], "file:///a.js");
    EXPECT_EQ(profile.functions[i].line, 7u);
    return;
  }
  FAIL() << "no fib";
}

TEST(CpuProfile, WhatIsWrongIsSaid) {
  const auto error = [](std::string_view bytes) { return error_of(bytes, "cpuprofile"); };
  EXPECT_EQ(error("{\"nodes\":["), "it is no JSON from byte 10 on");
  EXPECT_EQ(error("[]"), "it has no array \"nodes\"");
  EXPECT_EQ(error(R"({"nodes":[],"samples":[1],"timeDeltas":[1]})"), "it has no samples");
  EXPECT_EQ(error(R"({"nodes":[],"samples":[1,1],"timeDeltas":[1,1]})"),
            "a sample is of a node that is not there");
  EXPECT_EQ(error(R"({"nodes":[],"samples":[1],"timeDeltas":[]})"),
            "it has 1 samples and 0 timeDeltas");
  EXPECT_EQ(
      error(
          R"({"nodes":[{"id":1,"callFrame":{},"children":[2]},{"id":2,"callFrame":{},"children":[1]}],
                      "samples":[1,1],"timeDeltas":[1,1]})"),
      "a node is its own caller");
  EXPECT_EQ(error(R"({"nodes":[],"samples":[1],"timeDeltas":[1e300]})"), "a timeDelta is no time");
}

}  // namespace
}  // namespace sampan::importers
