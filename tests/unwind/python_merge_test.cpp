#include "unwind/python_merge.h"

#include <gtest/gtest.h>

#include <vector>

#include "chain_memory.h"

namespace sampan::unwind {
namespace {

using namespace chain_test;

constexpr uint64_t kEvalLoopCode = 0x500000, kOtherCode = 0x600000;
constexpr uint64_t kOuterThread = 0x2000;

// The number of a code object is its address.
struct Codes {
  CodeKind find(const PythonFrame& frame, uint32_t& number) {
    number = static_cast<uint32_t>(frame.code);
    return frame.code == 0 ? CodeKind::kUnreadable : CodeKind::kFunction;
  }
  void end_group(uint64_t, uint64_t, uint64_t) {}
  void clear() {}
};

// 3.13. Native frames 1 and 3 run the functions of one interpreter, 5 and 7 those of another, which runs the first
// one. The frames of the C stack are 0x100 bytes each.
struct TwoInterpreters : testing::Test {
  const PythonLayout& layout = *python_layout(0x030d);
  Memory memory;
  std::vector<uint64_t> native, cfas, room = std::vector<uint64_t>(64);
  uint32_t depth = 0;
  bool has_run_of_others = false;
  size_t last_run = 0;

  static uint64_t mark(unsigned run) { return kStack + 0x100 * run + 0x40; }
  void frame(uint64_t at, uint64_t code, uint64_t previous) {
    memory.put(at + layout.frame_code, code);
    memory.put(at + layout.frame_instruction, code + layout.code_instructions);
    memory.put(at + layout.frame_previous, previous);
  }
  // A run with one function, whose frame is at `at`.
  void run_of(unsigned run, uint64_t at, uint64_t code, uint64_t outer) {
    frame(at, code, mark(run));
    frame(mark(run), 0x990, outer);
  }
  TwoInterpreters() {
    for (unsigned i = 0; i < 9; ++i) {
      native.push_back((i % 2 == 1 ? kEvalLoopCode : kOtherCode) + i);
      cfas.push_back(kStack + 0x100 * (i + 1));
    }
    memory.put(kThread + layout.thread_frame, 0x5100);
    memory.put(kOuterThread + layout.thread_frame, 0x5300);
    run_of(1, 0x5100, 0x100, 0x5200);
    run_of(3, 0x5200, 0x200, 0);
    run_of(5, 0x5300, 0x300, 0x5400);
    run_of(7, 0x5400, 0x400, 0);
  }

  bool merge(std::vector<uint64_t> threads) {
    Codes codes;
    const EvalLoop eval_loop{kEvalLoopCode, kEvalLoopCode + 0x100};
    const NativeStack stack{native, cfas.data(), true};
    PythonMerge merge(memory, layout, eval_loop, stack, codes, room);
    const bool is_whole = merge.run(threads);
    depth = merge.depth();
    last_run = merge.last_run();
    has_run_of_others = merge.has_run_of_others();
    return is_whole;
  }
  // The code objects of the Python frames, and 0 for each native one.
  std::vector<uint64_t> merged() {
    std::vector<uint64_t> codes;
    for (uint32_t i = 0; i < depth; ++i) {
      codes.push_back(wire::is_python_frame(room[i])
                          ? (room[i] & ~wire::kPythonFrame) >> wire::kPythonUnitBits
                          : 0);
    }
    return codes;
  }
};

TEST_F(TwoInterpreters, TheOuterChainGoesOnWhereTheInnerOneEnds) {
  ASSERT_TRUE(merge({kThread, kOuterThread}));
  EXPECT_EQ(merged(),
            (std::vector<uint64_t>{0, 0x100, 0, 0, 0x200, 0, 0, 0x300, 0, 0, 0x400, 0, 0}));
  EXPECT_FALSE(has_run_of_others);
  EXPECT_EQ(last_run, 7u);
}

TEST_F(TwoInterpreters, WithoutTheOuterOneItsRunsAreOfOthers) {
  ASSERT_TRUE(merge({kThread}));
  EXPECT_EQ(merged(), (std::vector<uint64_t>{0, 0x100, 0, 0, 0x200, 0, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(has_run_of_others);
  EXPECT_EQ(last_run, 3u);
}

TEST_F(TwoInterpreters, WhatFramesRanThatAreLeftOutIsLeftOut) {
  native = {native[0], native[1], wire::kFramesLeftOut, native[6], native[7], native[8]};
  cfas = {cfas[0], cfas[1], cfas[5], cfas[6], cfas[7], cfas[8]};
  frame(mark(3), 0x990, 0x5300);  // one interpreter
  ASSERT_TRUE(merge({kThread}));
  EXPECT_EQ(merged(), (std::vector<uint64_t>{0, 0x100, 0, 0, 0, 0x400, 0, 0}));
  EXPECT_EQ(room[3], wire::kFramesLeftOut);
}

// Functions that one run of the eval loop has called.
TEST_F(TwoInterpreters, AChainThatIsTooLongHasItsInnermostAndOutermostFunctions) {
  constexpr uint64_t kFirst = 0x100000, kCount = 1000;
  for (uint64_t i = 0; i < kCount; ++i) {
    frame(kFirst + 0x80 * i, 0x1000 + 8 * i, i + 1 < kCount ? kFirst + 0x80 * (i + 1) : mark(3));
  }
  memory.put(kThread + layout.thread_frame, kFirst);
  frame(mark(3), 0x990, 0);
  ASSERT_TRUE(merge({kThread}));
  const std::vector<uint64_t> codes = merged();
  ASSERT_EQ(codes.size(), room.size());
  EXPECT_EQ(room[room.size() / 2], wire::kFramesLeftOut);
  EXPECT_EQ(codes[3], 0x1000u);  // behind three native frames
  EXPECT_EQ(codes[room.size() / 2 - 1], 0x1000 + 8 * (room.size() / 2 - 4));
  // The eval loop's own frame, and five around it.
  EXPECT_EQ(codes[room.size() - 7], 0x1000 + 8 * (kCount - 1));
  EXPECT_EQ(codes[room.size() / 2 + 1], 0x1000 + 8 * (kCount - (room.size() / 2 - 7)));
}

TEST_F(TwoInterpreters, TheLeafMayBeARunThatBegins) {
  native = {native[1], native[2]};
  cfas = {cfas[1], cfas[2]};
  memory.put(kThread + layout.thread_frame, 0);
  ASSERT_TRUE(merge({kThread}));
  EXPECT_FALSE(has_run_of_others);
}

TEST_F(TwoInterpreters, AStateThatIsNotAroundTheOtherOneIsRefused) {
  EXPECT_FALSE(merge({kOuterThread, kThread}));
  EXPECT_FALSE(merge({kThread, kThread}));
  run_of(7, 0x5400, 0x400, 0x5500);
  run_of(20, 0x5500, 0x500, 0);  // farther up than the native stack
  EXPECT_FALSE(merge({kThread, kOuterThread}));
}

}  // namespace
}  // namespace sampan::unwind
