// Small functions that do not return, by the code before the pc.
#include "unwind/frame_from_start.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "eh_frame_builder.h"

namespace sampan::unwind {
namespace {

using namespace std::literals;

class FrameFromStartTest : public testing::Test {
 protected:
  static constexpr uint64_t kStart = 0x9001, kCode = 0x5000, kCodeEnd = 0xa000, kStack = 0x100000;
  static constexpr uint64_t kCaller = 0x5010, kSavedBp = 0xb0, kSavedBx = 0xb1;

  // The function, behind the end of another one. The pc is behind the last instruction.
  void put_function(std::string_view code) {
    memory.put_code(kStart - 9, "\x90\x90\x90\x90\x90\x90\x90\x90\xc3"sv);
    memory.put_code(kStart, code);
    file.set(kRip, kStart + code.size());
    file.set(kRsp, kStack);
    file.set(kRbp, 0xbad);
    file.set(kRbx, kSavedBx);
    file.known = kPackedRegisters;
  }
  void put_call_of(uint64_t function) {
    const uint32_t distance = static_cast<uint32_t>(function - kCaller);
    memory.words[kCaller - 8] = uint64_t{distance} << 32 | uint64_t{0xe8} << 24;
  }
  void put_call_through_pointer() { memory.words[kCaller - 8] = uint64_t{0xd0ff} << 48; }
  // Words from the stack pointer on.
  void put_stack(std::initializer_list<uint64_t> words) {
    uint64_t at = kStack;
    for (const uint64_t word : words) memory.words[std::exchange(at, at + 8)] = word;
  }

  Step find(bool guess = true) {
    FrameFromStart frame(memory, module, file, called);
    uint16_t left = 4096;
    RegisterFile caller{};
    const Step step = frame.find(left, guess, caller);
    row = frame.row();
    if (step == Step::kCaller) result = caller;
    return step;
  }
  void expect_cfa(uint64_t offset) {
    ASSERT_EQ(find(), Step::kCaller);
    EXPECT_EQ(result.registers.value[kRip], kCaller);
    EXPECT_EQ(result.registers.value[kRsp], kStack + offset);
    EXPECT_EQ(row.cfa_offset(), offset);
  }

  FakeMemory memory;
  const Module module{kCode, kCodeEnd, 0, {}};
  RegisterFile file{}, result{};
  PackedRow row;
  bool called = true;
};

// push %rbp; push %rbx; sub $8,%rsp; call
constexpr std::string_view kEndlessCode = "\x55\x53\x48\x83\xec\x08\xe8\x00\x00\x00\x00"sv;

TEST_F(FrameFromStartTest, TheCallersCallTellsTheStart) {
  put_function(kEndlessCode);
  put_call_of(kStart);
  put_stack({1, kSavedBx, kSavedBp, kCaller});
  ASSERT_EQ(find(false), Step::kCaller);
  expect_cfa(32);
  EXPECT_EQ(row.kind(), PackedRow::kFromSp);
  EXPECT_EQ(row.fp_offset(), 16u);
  EXPECT_EQ(row.other_offset(), 24u);
  EXPECT_EQ(result.registers.value[kRbp], kSavedBp);
  EXPECT_EQ(result.registers.value[kRbx], kSavedBx);
}

TEST_F(FrameFromStartTest, ACalledFunctionBeginsBehindAnothersEnd) {
  put_function(kEndlessCode);
  put_call_through_pointer();
  put_stack({1, kSavedBx, kSavedBp, kCaller});
  EXPECT_EQ(find(false), Step::kNoRule);
  expect_cfa(32);
}

TEST_F(FrameFromStartTest, RemainsOfOtherCallsAreNotBelieved) {
  put_function(kEndlessCode);
  put_call_of(kStart);
  put_stack({kCaller, kCaller, kCaller, 1, kCaller});  // above and below the right place
  EXPECT_EQ(find(), Step::kNoRule);
  put_call_of(kStart + 1);  // of another function, at the right place
  put_stack({1, kSavedBx, kSavedBp, kCaller});
  EXPECT_EQ(find(), Step::kNoRule);
}

TEST_F(FrameFromStartTest, BehindAReturnTheBodyGoesOn) {
  called = false;
  // push %rbx; push %rbp; sub $8,%rsp; add $8,%rsp; pop %rbp; pop %rbx; ret; nop
  put_function("\x53\x55\x48\x83\xec\x08\x48\x83\xc4\x08\x5d\x5b\xc3\x90"sv);
  put_call_of(kStart);
  put_stack({1, kSavedBp, kSavedBx, kCaller});
  expect_cfa(32);
  EXPECT_EQ(row.fp_offset(), 24u);
  EXPECT_EQ(row.other_offset(), 16u);
}

TEST_F(FrameFromStartTest, ASwitchGoesOnInTheBody) {
  called = false;
  put_function("\x53\xff\xe0\x90"sv);  // push %rbx; jmp *%rax; nop
  put_call_of(kStart);
  put_stack({kSavedBx, kCaller});
  expect_cfa(16);
}

TEST_F(FrameFromStartTest, ABranchTakesItsStackAlong) {
  // 0: je 10; 2: push %rbx; 3: push %rbp; 4: pop %rbp; 5: pop %rbx; 6: ret; 7..9: nop; 10: push %rbx; 11: call
  put_function("\x74\x08\x53\x55\x5d\x5b\xc3\x90\x90\x90\x53\xe8\x00\x00\x00\x00"sv);
  put_call_of(kStart);
  put_stack({kSavedBx, kCaller});
  expect_cfa(16);
}

TEST_F(FrameFromStartTest, FramePointersWhereTheStackIsOfAnySize) {
  put_function(
      "\x55\x48\x89\xe5\x48\x29\xc4\xff\xd0"sv);  // push %rbp; mov %rsp,%rbp; sub %rax,%rsp; call
  put_call_of(kStart);
  file.set(kRbp, kStack + 0x40);
  memory.words[kStack + 0x40] = kSavedBp;
  memory.words[kStack + 0x48] = kCaller;
  for (uint64_t at = kStack; at < kStack + 0x40; at += 8) memory.words[at] = 0;
  memory.words[kStack] = kCaller;  // what tells the start
  ASSERT_EQ(find(), Step::kCaller);
  EXPECT_EQ(row.kind(), PackedRow::kFromFp);
  EXPECT_EQ(row.cfa_offset(), 16u);
  EXPECT_EQ(result.registers.value[kRbp], kSavedBp);
  EXPECT_EQ(result.registers.value[kRsp], kStack + 0x50);
}

// Nothing of a function that is as large as nobody writes them is looked at for ever.
TEST_F(FrameFromStartTest, TheWorkIsBounded) {
  put_function(std::string(5000, '\x90') + std::string(kEndlessCode));
  put_call_of(kStart);
  put_stack({kCaller});
  EXPECT_EQ(find(), Step::kNoRule);
}

}  // namespace
}  // namespace sampan::unwind
