#include "unwind/python_chain.h"

#include <gtest/gtest.h>

#include <vector>

#include "chain_memory.h"

namespace sampan::unwind {
namespace {

using namespace chain_test;

// Addresses of code objects.
constexpr uint64_t kOne = 0x100, kTwo = 0x200, kThree = 0x300, kFour = 0x400, kShim = 0x990;

Walked walk(Memory& memory, const PythonLayout& layout) {
  return chain_test::walk(PythonChain(memory, layout, kThread));
}

// 3.11: the eval loop `outer` runs frames 1 and 2 (leaf), `inner` runs 3 and 4 (leaf).
struct Cframes : testing::Test {
  const PythonLayout& layout = *python_layout(0x030b);
  Memory memory;
  static constexpr uint64_t kInner = kStack + 0x100, kOuter = kStack + 0x500, kRoot = 0x2000;

  void frame(uint64_t at, uint64_t code, uint64_t previous, bool is_entry) {
    for (uint64_t word = 0; word < 80; word += 8) memory.put(at + word, 0);
    memory.put(at + layout.frame_code, code);
    memory.put(at + layout.frame_instruction, code + layout.code_instructions);
    memory.put(at + layout.frame_previous, previous);
    memory.bytes[at + layout.frame_is_entry] = is_entry;
  }
  void cframe(uint64_t at, uint64_t frame, uint64_t previous) {
    memory.put(at, 0);
    memory.put(at + layout.cframe_frame, frame);
    memory.put(at + layout.cframe_previous, previous);
  }
  Cframes() {
    memory.put(kThread + layout.thread_cframe, kInner);
    cframe(kInner, 0x5300, kOuter);
    cframe(kOuter, 0x5100, kRoot);
    cframe(kRoot, 0, 0);
    frame(0x5000, kOne, 0, true);
    frame(0x5100, kTwo, 0x5000, false);
    frame(0x5200, kThree, 0x5100, true);
    frame(0x5300, kFour, 0x5200, false);
  }
};

TEST_F(Cframes, GroupsAreTheFramesOfOneEvalLoop) {
  const Walked walked = walk(memory, layout);
  EXPECT_FALSE(walked.torn);
  EXPECT_EQ(walked.groups, (std::vector<Group>{{kInner, {kFour, kThree}}, {kOuter, {kTwo, kOne}}}));
}

TEST_F(Cframes, AGroupThatDoesNotContinueInTheNextIsTorn) {
  frame(0x5200, kThree, 0x5000, true);  // not the frame that the outer cframe has
  EXPECT_TRUE(walk(memory, layout).torn);
}

TEST_F(Cframes, AnEvalLoopThatHasNotWrittenItsFrameIsTorn) {
  cframe(kInner, 0xdead0000, kOuter);
  EXPECT_TRUE(walk(memory, layout).torn);
}

TEST_F(Cframes, ALoopOfFramesIsTorn) {
  frame(0x5200, kThree, 0x5300, false);
  EXPECT_TRUE(walk(memory, layout).torn);
}

// `kThree` is a generator that delegates to `kFour`, whose eval loop runs: the exception that the outer
// group throws goes through `kThree`, which has no run, but the flag of an earlier one.
TEST_F(Cframes, AGeneratorThatIsThrownThroughIsOfTheOuterGroup) {
  cframe(kInner, 0x5300, kOuter);
  cframe(kOuter, 0x5200, kRoot);
  frame(0x5300, kFour, 0x5200, true);
  frame(0x5200, kThree, 0x5100, true);
  EXPECT_TRUE(walk(memory, layout).torn);  // of no generator
  memory.bytes[0x5200 + layout.frame_owner] = 1;
  EXPECT_EQ(walk(memory, layout),
            (Walked{{{kInner, {kFour}}, {kOuter, {kThree, kTwo, kOne}}}, false}));
}

TEST_F(Cframes, AWalkCanBeginFartherOut) {
  cframe(kInner, 0xdead0000, 0xdead1000);  // a run that has written nothing yet
  EXPECT_TRUE(walk(memory, layout).torn);
  EXPECT_EQ(chain_test::walk(PythonChain<Memory>::from_cframe(memory, layout, kOuter)),
            (Walked{{{kOuter, {kTwo, kOne}}}, false}));
}

TEST_F(Cframes, MarksGoUpTheStack) {
  cframe(kInner, 0x5300, kInner);
  EXPECT_TRUE(walk(memory, layout).torn);
}

// 3.13: shim frames on the C stack end the groups.
struct Shims : testing::Test {
  const PythonLayout& layout = *python_layout(0x030d);
  Memory memory;
  static constexpr uint64_t kInner = kStack + 0x100, kOuter = kStack + 0x500;

  void frame(uint64_t at, uint64_t code, uint64_t previous) {
    memory.put(at + layout.frame_code, code);
    memory.put(at + layout.frame_instruction, code + layout.code_instructions);
    memory.put(at + layout.frame_previous, previous);
  }
  Shims() {
    memory.put(kThread + layout.thread_frame, 0x5300);
    frame(0x5300, kFour, 0x5200);
    frame(0x5200, kThree, kInner);
    frame(kInner, kShim, 0x5100);
    frame(0x5100, kTwo, 0x5000);
    frame(0x5000, kOne, kOuter);
    frame(kOuter, kShim, 0);
  }
};

TEST_F(Shims, GroupsEndAtShimFrames) {
  const Walked walked = walk(memory, layout);
  EXPECT_FALSE(walked.torn);
  EXPECT_EQ(walked.groups, (std::vector<Group>{{kInner, {kFour, kThree}}, {kOuter, {kTwo, kOne}}}));
}

TEST_F(Shims, AFrameMayHoldItsCodeByATaggedPointer) {
  frame(0x5300, kFour | 1, 0x5200);
  EXPECT_EQ(walk(memory, layout).groups,
            (std::vector<Group>{{kInner, {kFour, kThree}}, {kOuter, {kTwo, kOne}}}));
}

TEST_F(Shims, TheUnitIsThatOfTheInstruction) {
  memory.put(0x5300 + layout.frame_instruction, kFour + layout.code_instructions + 6);
  PythonChain chain(memory, layout, kThread);
  PythonFrame frame{};
  ASSERT_TRUE(chain.next(frame));
  EXPECT_EQ(frame.unit, 4u);
}

TEST_F(Shims, AnEvalLoopThatHasJustBegunHasAnEmptyGroup) {
  memory.put(kThread + layout.thread_frame, kInner);
  const Walked walked = walk(memory, layout);
  EXPECT_FALSE(walked.torn);
  EXPECT_EQ(walked.groups, (std::vector<Group>{{kInner, {}}, {kOuter, {kTwo, kOne}}}));
}

TEST_F(Shims, AChainThatEndsWithoutAShimIsTorn) {
  frame(0x5000, kOne, 0);
  const Walked walked = walk(memory, layout);
  EXPECT_TRUE(walked.torn);
  EXPECT_EQ(walked.groups, (std::vector<Group>{{kInner, {kFour, kThree}}}));
}

TEST_F(Shims, AThreadWithoutFramesHasNoGroup) {
  memory.put(kThread + layout.thread_frame, 0);
  const Walked walked = walk(memory, layout);
  EXPECT_FALSE(walked.torn);
  EXPECT_TRUE(walked.groups.empty());
}

TEST_F(Shims, MemoryThatIsNotThereIsTorn) {
  memory.put(kThread + layout.thread_frame, 0x9999000);
  EXPECT_TRUE(walk(memory, layout).torn);
}

}  // namespace
}  // namespace sampan::unwind
