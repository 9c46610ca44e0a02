#include "unwind/python_frame_objects.h"

#include <gtest/gtest.h>

#include <vector>

#include "chain_memory.h"

namespace sampan::unwind {
namespace {

using namespace chain_test;

constexpr uint64_t kCodeOne = 0x100, kCodeTwo = 0x200, kCodeThree = 0x300;  // code objects
constexpr uint64_t kOuter = 0x5000, kMiddle = 0x5100, kInner = 0x5200;
constexpr uint64_t kMarkOne = kStack + 0x900, kMarkTwo = kStack + 0x500,
                   kMarkThree = kStack + 0x100;
constexpr uint64_t kRootCframe = kThread + 0x200;

// Frame `kOuter` of `kCodeOne` has called `kMiddle` of `kCodeTwo`, which has called `kInner` of `kCodeThree`, the
// leaf.
struct FrameObjects : testing::Test {
  explicit FrameObjects(uint32_t version) : layout(*python_layout(version)) {
    frame(kOuter, kCodeOne, 0);
    frame(kMiddle, kCodeTwo, kOuter);
    frame(kInner, kCodeThree, kMiddle);
    memory.put(kThread + layout.thread_frame, kInner);
  }
  void frame(uint64_t at, uint64_t code, uint64_t previous) {
    for (uint64_t word = 0; word < 120; word += 8) memory.put(at + word, 0);
    memory.put(at + layout.frame_code, code);
    memory.put(at + layout.frame_previous, previous);
    memory.put(at + layout.frame_instruction, 4, 4);
    if (layout.frame_stack_depth != 0) memory.put(at + layout.frame_stack_depth, ~uint64_t{0}, 4);
  }
  void generator(uint64_t at) { memory.put(at + layout.frame_generator, 0x7000); }

  const PythonLayout& layout;
  Memory memory;
};

const std::vector<Group> kWhole = {
    {kMarkThree, {kCodeThree}}, {kMarkTwo, {kCodeTwo}}, {kMarkOne, {kCodeOne}}};

// 3.10: the runs are the interpreter's cframes.
struct Cframes10 : FrameObjects {
  Cframes10() : FrameObjects(0x030a) { cframes({kMarkThree, kMarkTwo, kMarkOne}); }

  void cframes(const std::vector<uint64_t>& marks) {
    uint64_t from = kThread + layout.thread_cframe;
    for (const uint64_t mark : marks) {
      memory.put(from, mark);
      from = mark + layout.cframe_previous;
    }
    memory.put(from, kRootCframe);
  }
  Walked walk() {
    const CframeRuns runs(memory, layout, kThread);
    return chain_test::walk(PythonFrameObjects(memory, layout, kThread, runs, true));
  }
  void delegates(uint64_t at) {  // an exception is being thrown through the generator
    generator(at);
    memory.put(at + layout.frame_stack_depth, 1, 4);
  }
};

TEST_F(Cframes10, EachRunHasOneFrame) {
  EXPECT_EQ(walk(), (Walked{kWhole, false}));
}

TEST_F(Cframes10, ARunThatIsBeginningHasNone) {
  memory.put(kThread + layout.thread_frame, kMiddle);
  EXPECT_EQ(walk(), (Walked{{kWhole[1], kWhole[2]}, false}));
  memory.put(kThread + layout.thread_frame, 0);
  cframes({kMarkOne});
  EXPECT_EQ(walk(), (Walked{{}, false}));
}

TEST_F(Cframes10, AFrameThatOutlastsItsRunIsTheLeaf) {
  cframes({kMarkTwo, kMarkOne});
  const Walked walked = walk();
  EXPECT_FALSE(walked.torn);
  ASSERT_EQ(walked.groups.size(), 3u);
  EXPECT_LT(walked.groups[0].mark, kStack);
  EXPECT_EQ(walked.groups[0].codes, std::vector{kCodeThree});
  EXPECT_EQ(walked.groups[1], kWhole[1]);
}

TEST_F(Cframes10, ListsOfDifferentLengthsAreTorn) {
  cframes({kMarkOne});
  EXPECT_TRUE(walk().torn);
  cframes({kStack + 8, kStack + 24, kMarkThree, kMarkTwo, kMarkOne});
  EXPECT_TRUE(walk().torn);
}

TEST_F(Cframes10, AGeneratorThatIsThrownThroughIsOfTheOuterGroup) {
  delegates(kMiddle);
  cframes({kMarkThree, kMarkOne});
  EXPECT_EQ(walk(),
            (Walked{{{kMarkThree, {kCodeThree}}, {kMarkOne, {kCodeTwo, kCodeOne}}}, false}));
  cframes({kStack + 8, kMarkThree, kMarkOne});  // a run more, at the leaf or in the middle
  EXPECT_TRUE(walk().torn);
}

TEST_F(Cframes10, AGeneratorThatIsBeginningHasItsRun) {
  delegates(kInner);
  EXPECT_EQ(walk(), (Walked{kWhole, false}));
}

TEST_F(Cframes10, ASuspendedGeneratorThatIsBeingLeftHasItsRun) {
  delegates(kInner);
  memory.bytes[kInner + layout.frame_state] = 0xff;
  EXPECT_EQ(walk(), (Walked{kWhole, false}));
}

TEST_F(Cframes10, RunsGoUpTheStackAndEndInTheThread) {
  memory.put(kMarkTwo + layout.cframe_previous, kMarkThree);
  EXPECT_TRUE(walk().torn);
  memory.put(kMarkTwo + layout.cframe_previous, 0x5000);
  EXPECT_TRUE(walk().torn);
  memory.put(kMarkTwo + layout.cframe_previous, 0xdead0000);
  EXPECT_TRUE(walk().torn);
}

TEST_F(Cframes10, MemoryThatIsNotThereIsTorn) {
  memory.put(kMiddle + layout.frame_previous, 0xdead0000);
  EXPECT_TRUE(walk().torn);
  memory.put(kThread + layout.thread_frame, 0xdead0000);
  EXPECT_TRUE(walk().torn);
  memory.bytes.clear();
  EXPECT_TRUE(walk().torn);
}

TEST_F(Cframes10, ALoopOfFramesIsTorn) {
  memory.put(kOuter + layout.frame_previous, kInner);
  EXPECT_TRUE(walk().torn);
}

TEST_F(Cframes10, TheUnitIsTheIndex) {
  const auto unit = [&](int32_t index) {
    memory.put(kInner + layout.frame_instruction, static_cast<uint32_t>(index), 4);
    const CframeRuns runs(memory, layout, kThread);
    PythonFrameObjects chain(memory, layout, kThread, runs, true);
    PythonFrame frame{};
    return chain.next(frame) ? frame.unit : 99;
  };
  EXPECT_EQ(unit(-1), 0u);
  EXPECT_EQ(unit(0), 1u);
  EXPECT_EQ(unit(4), 5u);
}

// 3.9: the runs are listed by somebody else.
struct Runs {
  std::vector<uint64_t> marks;
  size_t i = 0;

  bool torn() const { return false; }
  bool next(uint64_t& mark) {
    if (i == marks.size()) return false;
    mark = marks[i++];
    return true;
  }
};

struct Objects9 : FrameObjects {
  Objects9() : FrameObjects(0x0309) {}
  Walked walk(const std::vector<uint64_t>& marks) {
    return chain_test::walk(PythonFrameObjects(memory, layout, kThread, Runs{marks}, false));
  }
};

TEST_F(Objects9, RunsAreCountedFromTheRoot) {
  EXPECT_EQ(walk({kMarkThree, kMarkTwo, kMarkOne}), (Walked{kWhole, false}));
  EXPECT_EQ(walk({kStack + 8, kMarkThree, kMarkTwo, kMarkOne}), (Walked{kWhole, false}));
  EXPECT_TRUE(walk({kMarkTwo, kMarkOne}).torn);
  EXPECT_TRUE(walk({kStack + 8, kStack + 24, kMarkThree, kMarkTwo, kMarkOne}).torn);
}

TEST_F(Objects9, AChainThatEndsInAGeneratorHasLostItsCallers) {
  generator(kMiddle);
  EXPECT_FALSE(walk({kMarkThree, kMarkTwo, kMarkOne}).torn);
  generator(kOuter);
  EXPECT_TRUE(walk({kMarkThree, kMarkTwo, kMarkOne}).torn);
  EXPECT_TRUE(walk({kMarkThree, kMarkTwo}).torn);
}

TEST_F(Objects9, TheUnitIsHalfTheOffset) {
  PythonFrameObjects chain(memory, layout, kThread, Runs{{kMarkThree, kMarkTwo, kMarkOne}}, false);
  PythonFrame frame{};
  ASSERT_TRUE(chain.next(frame));
  EXPECT_EQ(frame.unit, 3u);
}

}  // namespace
}  // namespace sampan::unwind
