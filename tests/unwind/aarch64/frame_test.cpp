// The equations of AArch64's frames, over a fake memory.
#include "unwind/aarch64/frame.h"

#include <gtest/gtest.h>

#include "fake_memory.h"

namespace sampan::unwind {
namespace {

constexpr uint64_t kSignature = uint64_t{0x5a} << 48;

class Aarch64Frame : public testing::Test {
 protected:
  void SetUp() override { memory.put_call_before(kReturnTo); }

  FakeMemory memory;
  Frame frame{0x9000, kFakeStack, kFakeStack + 0x20, kReturnTo, true};
};

TEST_F(Aarch64Frame, ALeafHasItsReturnAddressInTheLinkRegister) {
  const PackedRow leaf(PackedRow::kFromSp, 0, 0, 0);
  ASSERT_EQ(follow(leaf, true, memory, frame), Step::kCaller);
  EXPECT_EQ(frame.pc, kReturnTo);
  EXPECT_EQ(frame.sp, kFakeStack);
  // Its caller has called, so its row must say where it has saved the link register.
  EXPECT_EQ(follow(leaf, false, memory, frame), Step::kNoProgress);
  EXPECT_EQ(follow(PackedRow(PackedRow::kFromSp, 2, 0, 0), false, memory, frame), Step::kDamaged);
}

TEST_F(Aarch64Frame, AFrameRecordIsRestoredWithoutItsSignature) {
  memory.words[kFakeStack + 0x10] = kCallersFp;
  memory.words[kFakeStack + 0x18] = kReturnTo | kSignature;
  ASSERT_EQ(follow(PackedRow(PackedRow::kFromSp, 8, 6, 5), false, memory, frame), Step::kCaller);
  EXPECT_EQ(frame.pc, kReturnTo);
  EXPECT_EQ(frame.other, kReturnTo);
  EXPECT_EQ(frame.fp, kCallersFp);
  EXPECT_EQ(frame.sp, kFakeStack + 64);
}

TEST_F(Aarch64Frame, WhereTheStackPointerIsNotKnownTheFrameRecordSaysTheCfa) {
  frame.knows_sp = false;
  frame.fp = kFakeStack + 0x80;
  memory.words[kFakeStack + 0x80] = kCallersFp;
  memory.words[kFakeStack + 0x88] = kReturnTo;
  ASSERT_EQ(follow(PackedRow(PackedRow::kFromSp, 8, 6, 5), false, memory, frame), Step::kCaller);
  EXPECT_EQ(frame.sp, kFakeStack + 0x80 + 48);
  EXPECT_TRUE(frame.knows_sp);
  frame.knows_sp = false;
  EXPECT_EQ(follow(PackedRow(PackedRow::kFromSp, 8, 6, 4), false, memory, frame),
            Step::kLostRegister);
}

TEST_F(Aarch64Frame, RowsThatFit) {
  CfiRow row{};
  row.cfa_kind = CfiRow::kCfaRegister;
  row.cfa_register = kSp;
  row.cfa_value = 32;
  row.registers[kFp] = {RegisterRule::kOffset, -32};
  row.registers[kLr] = {RegisterRule::kOffset, -24};
  EXPECT_EQ(pack(row).bits(), PackedRow(PackedRow::kFromSp, 4, 4, 3).bits());
  row.cfa_register = kFp;
  EXPECT_EQ(pack(row).bits(), PackedRow(PackedRow::kFromFp, 4, 4, 3).bits());
  row.cfa_register = kX19;
  EXPECT_EQ(pack(row).kind(), PackedRow::kNone);
  row.registers[kLr] = {RegisterRule::kUndefined, 0};
  EXPECT_EQ(pack(row).kind(), PackedRow::kRoot);
}

TEST_F(Aarch64Frame, OnlyAFunctionThatCallsItselfReturnsToWhereItIs) {
  CfiRow row{};
  RegisterFile file{};
  file.set(kPc, kReturnTo);
  file.set(kLr, kReturnTo);
  RegisterFile caller = file;
  EXPECT_EQ(complete_caller(row, file, caller), Step::kDamaged);
  row.registers[kLr] = {RegisterRule::kOffset, -24};
  EXPECT_EQ(complete_caller(row, file, caller), Step::kCaller);
}

TEST_F(Aarch64Frame, TheFramePointerLeadsToARecordAndNoFurtherThanTheOutermost) {
  RegisterFile file{};
  put_frame(frame, file);
  file.known = kAllRegisters;
  memory.words[kFakeStack + 0x20] = kFakeStack + 0x60;
  memory.words[kFakeStack + 0x28] = kReturnTo | kSignature;
  ASSERT_EQ(follow_frame_pointer(memory, false, file), Step::kCaller);
  EXPECT_EQ(file.registers.value[kPc], kReturnTo);
  EXPECT_FALSE(file.knows(kSp));
  EXPECT_FALSE(frame_of(file).knows_sp);
  memory.words[kFakeStack + 0x60] = 0;
  memory.words[kFakeStack + 0x68] = 0;
  EXPECT_EQ(follow_frame_pointer(memory, true, file), Step::kRoot);
  memory.words[kFakeStack + 0x68] = 0x7000;  // no call stands before it
  EXPECT_EQ(follow_frame_pointer(memory, true, file), Step::kNoCall);
}

TEST_F(Aarch64Frame, ASignalFrameHasAllRegisters) {
  RegisterFile file{};
  put_frame(frame, file);
  file.known = kPackedRegisters;
  EXPECT_EQ(leave_signal_frame(memory, file), Step::kNoRule);
  memory.put_code(0x9000, {0xd280'1168, 0xd400'0001});
  EXPECT_EQ(leave_signal_frame(memory, file), Step::kBadAddress);
  for (uint64_t number = 0; number < kRegisterCount; ++number) {
    memory.words[kFakeStack + 128 + 176 + 8 + 8 * number] = 0x100 + number;
  }
  ASSERT_EQ(leave_signal_frame(memory, file), Step::kCaller);
  EXPECT_EQ(file.registers.value[kX19], 0x100u + 19);
  EXPECT_EQ(file.registers.value[kSp], 0x100u + 31);
  EXPECT_EQ(file.registers.value[kPc], 0x100u + 32);
  EXPECT_EQ(file.known, kAllRegisters);
}

TEST(Aarch64CallSite, Calls) {
  const auto length = [](uint32_t instruction) { return call_length(uint64_t{instruction} << 32); };
  EXPECT_EQ(length(0x97ff'ffff), 4u);  // bl
  EXPECT_EQ(length(0xd63f'0000), 4u);  // blr x0
  EXPECT_EQ(length(0xd63f'0c1f), 4u);  // blrabz x0
  EXPECT_EQ(length(0xd73f'0822), 4u);  // blraa x1, x2
  EXPECT_EQ(length(0xd61f'0000), 0u);  // br x0
  EXPECT_EQ(length(0x1400'0000), 0u);  // b
  EXPECT_EQ(length(0xd65f'03c0), 0u);  // ret
}

}  // namespace
}  // namespace sampan::unwind
