#include <gtest/gtest.h>

#include "profile/frames.h"
#include "profile/load.h"
#include "wire/deep_stack.h"

namespace sampan::profile {
namespace {

using wire::StopReason;

// A program whose thread runs `outer` in an eval loop (0), which calls a C function that calls back
// into Python: eval, outer, inner; zlib; eval, callback. Another stack has no Python.
recording::Recording python_example() {
  recording::Recording from;
  from.processes = {{100, 1, 5, "/usr/bin/python3"}};
  from.threads = {{0, 100, 5, "python3"}};
  from.modules = {{"/usr/bin/python3", {}, 0, 0}};
  // main, eval loop, a C function; outer, inner, callback
  from.frames = {{0, 0x10}, {0, 0x20}, {0, 0x30}};
  for (uint64_t i = 1; i <= 3; ++i) from.frames.push_back({kNone, wire::kPythonFrame | i});
  from.stacks = {{kNone, 0}, {0, 1}, {1, 3}, {2, 4}, {3, 2}, {4, 1}, {5, 5}, {0, 2}, {7, 2}};
  for (uint32_t i = 0; i < from.stacks.size(); ++i) {
    from.samples.push_back({0, i, SessionNs::at(10 * i + 10), 1, StopReason::kRoot});
  }
  return from;
}

// The frames of the sample's stack, one letter each, root first.
std::string letters_of(const Profile& profile, size_t sample) {
  constexpr std::string_view kLetters = "mecOIBtvx";
  std::string text;
  for (uint32_t stack = profile.samples[sample].stack; stack != kNone;) {
    text.insert(text.begin(), kLetters[profile.stacks[stack].location]);
    stack = profile.stacks[stack].prefix;
  }
  return text;
}

std::vector<std::string> letters_of(PythonFrames python) {
  const Profile profile = load(python_example(), python);
  std::vector<std::string> stacks;
  for (size_t i = 0; i < profile.samples.size(); ++i) stacks.push_back(letters_of(profile, i));
  return stacks;
}

using Stacks = std::vector<std::string>;

TEST(PythonStacks, MixedHaveNoEvalLoopThatRunsThem) {
  EXPECT_EQ(letters_of(PythonFrames::kMixed),
            (Stacks{"m", "me", "mO", "mOI", "mOIc", "mOIce", "mOIcB", "mc", "mcc"}));
}

TEST(PythonStacks, NativeHaveEvalLoopsAndNoPython) {
  EXPECT_EQ(letters_of(PythonFrames::kNative),
            (Stacks{"m", "me", "me", "me", "mec", "mece", "mece", "mc", "mcc"}));
}

TEST(PythonStacks, OfPythonCountCForItsCallerAndLeaveOtherStacksAlone) {
  EXPECT_EQ(letters_of(PythonFrames::kPython),
            (Stacks{"m", "me", "O", "OI", "OI", "OI", "OIB", "mc", "mcc"}));
}

// `outer` calls `inner` under -X perf, directly and through the C function: each eval loop has a
// trampoline (t), which the evaluator (v) calls.
TEST(PythonStacks, MixedHaveNoTrampolines) {
  recording::Recording from = python_example();
  const auto frame = [&](char letter) {
    return static_cast<uint32_t>(std::string_view("mecOIBtvx").find(letter));
  };
  from.modules.push_back({"/usr/lib/libc.so.6", {}, 0, 0});
  from.frames.push_back({kNone, 0x7000});  // t
  from.frames.push_back({0, 0x40});        // v
  from.frames.push_back({1, 0x50});        // x: of another module
  from.stacks.clear();
  from.samples.clear();
  const auto mixed = [&](std::string_view letters) {
    uint32_t prefix = kNone;
    recording::Recording copy = from;
    for (const char letter : letters) {
      copy.stacks.push_back({prefix, frame(letter)});
      prefix = static_cast<uint32_t>(copy.stacks.size() - 1);
    }
    copy.samples.push_back({0, prefix, 10, 1, StopReason::kRoot});
    return letters_of(load(copy), 0);
  };
  EXPECT_EQ(mixed("mvteO"), "mO");
  EXPECT_EQ(mixed("mvteOcvteI"), "mOI") << "c calls functions";
  EXPECT_EQ(mixed("mvteOccvteI"), "mOccI") << "a C function that was called calls back";
  EXPECT_EQ(mixed("mvteOxvteI"), "mOxI") << "of another module";
  EXPECT_EQ(mixed("mvteOxteI"), "mOxI");
  EXPECT_EQ(mixed("mvteOteI"), "mOI");
  EXPECT_EQ(mixed("teO"), "O");
  EXPECT_EQ(mixed("mvteOcvt"), "mOcvt") << "the eval loop has not begun";
}

// What stands for frames that are left out (v) is no eval loop, and no C function.
TEST(PythonStacks, FramesThatAreLeftOutAreSaidInEach) {
  recording::Recording from = python_example();
  from.frames.push_back({kNone, 0x7000});
  from.frames.push_back({kNone, wire::kFramesLeftOut});
  from.stacks = {{kNone, 0}, {0, 1}, {1, 3}, {2, 7}, {3, 4}};
  from.samples = {{0, 4, 10, 1, StopReason::kRoot}};
  EXPECT_EQ(letters_of(load(from), 0), "mOvI");
  EXPECT_EQ(letters_of(load(from, PythonFrames::kPython), 0), "OvI");
  EXPECT_EQ(letters_of(load(from, PythonFrames::kNative), 0), "mev");
}

TEST(PythonStacks, OfPythonAloneAreNothingWhereNativeOnesAreWanted) {
  recording::Recording from = python_example();
  from.stacks = {{kNone, 3}, {0, 4}};
  from.samples = {{0, 1, 10, 1, StopReason::kRoot}};
  EXPECT_EQ(load(from, PythonFrames::kNative).samples[0].stack, kNone);
  EXPECT_EQ(letters_of(load(from, PythonFrames::kPython), 0), "OI");
  EXPECT_EQ(letters_of(load(from), 0), "OI");
}

TEST(PythonStacks, KeepTheWaitOfACFunctionThatPythonCalls) {
  recording::Recording from = python_example();
  from.session.clock = "wall";
  from.waits = {{"read", "pipe:[7]"}};
  from.samples = {{0, 4, 10, 1, StopReason::kRoot, 0}};
  const Profile profile = load(from, PythonFrames::kPython);
  const Stack& leaf = profile.stacks[profile.samples[0].stack];
  EXPECT_EQ(profile.locations[leaf.location].wait, 0u);
  EXPECT_TRUE(is_python(profile.locations[profile.stacks[leaf.prefix].location]));
}

}  // namespace
}  // namespace sampan::profile
