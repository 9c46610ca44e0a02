#include "unwind/python_chain.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

namespace sampan::unwind {
namespace {

constexpr uint64_t kThread = 0x1000, kStack = 0x70000, kStackEnd = 0x80000;

struct Memory {
  std::map<uint64_t, uint8_t> bytes;

  template <typename T>
  bool read(uint64_t avma, T& value) {
    uint8_t raw[sizeof(T)];
    for (size_t i = 0; i < sizeof(T); ++i) {
      const auto found = bytes.find(avma + i);
      if (found == bytes.end()) return false;
      raw[i] = found->second;
    }
    std::memcpy(&value, raw, sizeof raw);
    return true;
  }
  bool on_stack(uint64_t avma) const { return avma >= kStack && avma < kStackEnd; }
  void put(uint64_t avma, uint64_t value) {
    for (size_t i = 0; i < 8; ++i) bytes[avma + i] = static_cast<uint8_t>(value >> 8 * i);
  }
};

struct Group {
  uint64_t mark;
  std::vector<uint64_t> codes;
  bool operator==(const Group&) const = default;
};

struct Walked {
  std::vector<Group> groups;
  bool torn;
};

Walked walk(Memory& memory, const PythonLayout& layout) {
  Walked walked{};
  PythonChain chain(memory, layout, kThread);
  while (chain.has_group()) {
    Group& group = walked.groups.emplace_back(Group{chain.mark(), {}});
    PythonFrame frame{};
    while (chain.next(frame)) group.codes.push_back(frame.code);
  }
  walked.torn = chain.torn();
  return walked;
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
    memory.put(kThread + layout.thread_frame, kInner);
    cframe(kInner, 0x5300, kOuter);
    cframe(kOuter, 0x5100, kRoot);
    cframe(kRoot, 0, 0);
    frame(0x5000, 1, 0, true);
    frame(0x5100, 2, 0x5000, false);
    frame(0x5200, 3, 0x5100, true);
    frame(0x5300, 4, 0x5200, false);
  }
};

TEST_F(Cframes, GroupsAreTheFramesOfOneEvalLoop) {
  const Walked walked = walk(memory, layout);
  EXPECT_FALSE(walked.torn);
  EXPECT_EQ(walked.groups, (std::vector<Group>{{kInner, {4, 3}}, {kOuter, {2, 1}}}));
}

TEST_F(Cframes, AGroupThatDoesNotContinueInTheNextIsTorn) {
  frame(0x5200, 3, 0x5000, true);  // not the frame that the outer cframe has
  EXPECT_TRUE(walk(memory, layout).torn);
}

TEST_F(Cframes, AnEvalLoopThatHasNotWrittenItsFrameIsTorn) {
  cframe(kInner, 0xdead0000, kOuter);
  EXPECT_TRUE(walk(memory, layout).torn);
}

TEST_F(Cframes, ALoopOfFramesIsTorn) {
  frame(0x5200, 3, 0x5300, false);
  EXPECT_TRUE(walk(memory, layout).torn);
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
    frame(0x5300, 4, 0x5200);
    frame(0x5200, 3, kInner);
    frame(kInner, 99, 0x5100);
    frame(0x5100, 2, 0x5000);
    frame(0x5000, 1, kOuter);
    frame(kOuter, 99, 0);
  }
};

TEST_F(Shims, GroupsEndAtShimFrames) {
  const Walked walked = walk(memory, layout);
  EXPECT_FALSE(walked.torn);
  EXPECT_EQ(walked.groups, (std::vector<Group>{{kInner, {4, 3}}, {kOuter, {2, 1}}}));
}

TEST_F(Shims, AnEvalLoopThatHasJustBegunHasAnEmptyGroup) {
  memory.put(kThread + layout.thread_frame, kInner);
  const Walked walked = walk(memory, layout);
  EXPECT_FALSE(walked.torn);
  EXPECT_EQ(walked.groups, (std::vector<Group>{{kInner, {}}, {kOuter, {2, 1}}}));
}

TEST_F(Shims, AChainThatEndsWithoutAShimIsTorn) {
  frame(0x5000, 1, 0);
  const Walked walked = walk(memory, layout);
  EXPECT_TRUE(walked.torn);
  EXPECT_EQ(walked.groups, (std::vector<Group>{{kInner, {4, 3}}}));
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
