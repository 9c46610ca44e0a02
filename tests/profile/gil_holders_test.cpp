#include "profile/gil_holders.h"

#include <gtest/gtest.h>

#include "profile/load.h"

namespace sampan::profile {
namespace {

using wire::StopReason;

// Two threads that compute, in `parse` and (8) in C code that `pack` calls, and one that waits for
// them. Stacks: 0 parse, 1 pack, 2 pack and C code, 3 C code alone.
recording::Recording gil_waits() {
  recording::Recording from;
  from.session.clock = "wall";
  from.processes = {{100, 1, 0, "/usr/bin/python3"}, {200, 1, 0, "/usr/bin/python3"}};
  from.threads = {{0, 100, 0, "python3"}, {0, 7, 0, "parser"}, {0, 8, 0, "packer"}};
  from.modules = {{"/usr/lib/libz.so.1", {}, 0, 0}};
  from.frames = {{kNone, wire::kPythonFrame | 1}, {kNone, wire::kPythonFrame | 2}, {0, 0x10}};
  from.stacks = {{kNone, 0}, {kNone, 1}, {1, 2}, {kNone, 2}};
  from.names.texts = {"", "parse", "pack", "/srv/w.py"};
  from.names.functions = {{1, 3, 1, kNone}, {2, 3, 9, kNone}};
  from.names.frames = {{0, 1}, {1, 1}};
  from.names.lines = {{0, 3, 2}, {1, 3, 10}};
  from.waits = {{"GIL", "held by thread 7 python3"}, {"GIL", "held by thread 8 python3"}};
  return from;
}

void add(recording::Recording* from, uint32_t thread, uint32_t stack, uint64_t end_ns,
         uint64_t weight_ns, uint32_t wait = kNone) {
  from->samples.push_back(
      {thread, stack, SessionNs::at(end_ns), weight_ns, StopReason::kRoot, wait});
}

// The names of the waits of thread 0's samples.
std::vector<std::string> waits_of(recording::Recording from,
                                  PythonFrames python = PythonFrames::kMixed) {
  const Profile profile = load(std::move(from), python);
  std::vector<std::string> names;
  for (const Sample& sample : profile.samples) {
    if (sample.thread == 0) names.push_back(wait_name(profile.waits[sample.wait]));
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(GilHolders, AreInTheFunctionOfTheirFirstSampleInTheTimeOfTheWait) {
  recording::Recording from = gil_waits();
  add(&from, 1, 0, 20, 10);
  add(&from, 1, 1, 30, 10);
  add(&from, 0, 0, 22, 8, 0);   // [14, 22]
  add(&from, 0, 0, 32, 10, 0);  // [22, 32]
  add(&from, 0, 0, 40, 20, 0);  // [20, 40]: both
  EXPECT_EQ(waits_of(std::move(from)), (Names{"[GIL held by thread 7 parser in parse]",
                                              "[GIL held by thread 7 parser in pack]",
                                              "[GIL held by thread 7 parser in parse]"}));
}

TEST(GilHolders, AreInThePythonFunctionThatCallsCCodeWhateverFramesAreWanted) {
  for (const auto python : {PythonFrames::kMixed, PythonFrames::kPython, PythonFrames::kNative}) {
    recording::Recording from = gil_waits();
    add(&from, 2, 2, 30, 10);
    add(&from, 0, 0, 32, 10, 1);
    EXPECT_EQ(waits_of(std::move(from), python), Names{"[GIL held by thread 8 packer in pack]"});
  }
}

TEST(GilHolders, WithoutASampleInTheTimeAreInNoFunction) {
  recording::Recording from = gil_waits();
  add(&from, 1, 0, 20, 10);
  add(&from, 2, 3, 50, 30);     // no Python function
  add(&from, 0, 0, 40, 10, 0);  // [30, 40]
  add(&from, 0, 0, 45, 5, 1);
  EXPECT_EQ(waits_of(std::move(from)),
            (Names{"[GIL held by thread 7 parser]", "[GIL held by thread 8 packer]"}));
}

TEST(GilHolders, MayHaveLetGoOfTheLockBeforeTheirNextSample) {
  recording::Recording from = gil_waits();
  add(&from, 1, 1, 20, 10);
  add(&from, 0, 0, 40, 10, 0);  // [30, 40]
  add(&from, 1, 1, 41, 21);     // its CPU covers the wait
  EXPECT_EQ(waits_of(std::move(from)), Names{"[GIL held by thread 7 parser]"});
}

TEST(GilHolders, AreThreadsOfTheSameProcessThatHadTheIdAtTheTime) {
  recording::Recording from = gil_waits();
  from.threads.push_back({1, 7, 0, "other"});
  from.threads.push_back({0, 7, SessionNs::at(100), "later"});
  add(&from, 3, 0, 20, 20);
  add(&from, 0, 0, 20, 10, 0);
  add(&from, 4, 1, 120, 20);
  add(&from, 0, 0, 120, 10, 0);
  EXPECT_EQ(waits_of(std::move(from)),
            (Names{"[GIL held by thread 7 parser]", "[GIL held by thread 7 later in pack]"}));
}

TEST(GilHolders, ThatAreNoThreadsOfTheRecordingStayAsTheyAre) {
  recording::Recording from = gil_waits();
  from.waits = {{"GIL", "held by thread 9 gone"}, {"GIL", "held by thread x"}, {"GIL", ""}};
  for (uint32_t wait = 0; wait < 3; ++wait) add(&from, 0, 0, 20 + wait, 10, wait);
  add(&from, 1, 0, 20, 20);
  EXPECT_EQ(waits_of(std::move(from)),
            (Names{"[GIL held by thread 9 gone]", "[GIL held by thread x]", "[GIL]"}));
}

}  // namespace
}  // namespace sampan::profile
