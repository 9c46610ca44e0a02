// Small functions of AArch64 by their code alone.
#include "unwind/return_path.h"

#include <gtest/gtest.h>

#include "fake_memory.h"

namespace sampan::unwind {
namespace {

constexpr uint64_t kFunction = 0x9000;
constexpr uint32_t kRet = 0xd65f'03c0, kCall = 0x9400'0040, kNop = 0xd503'201f;
constexpr uint32_t kSave = 0xa9be'7bfd;     // stp x29, x30, [sp, #-32]!
constexpr uint32_t kRestore = 0xa8c2'7bfd;  // ldp x29, x30, [sp], #32

class Aarch64ReturnPath : public testing::Test {
 protected:
  void SetUp() override {
    memory.put_call_before(kReturnTo);
    file.set(kPc, kFunction);
    file.set(kSp, kFakeStack);
    file.set(kFp, kFakeStack + 0x40);
    file.set(kLr, kReturnTo);
    file.known = kAllRegisters;
  }
  Step follow() {
    ReturnPath path(memory, file, called, Returns::kAny);
    uint16_t left = 100;
    RegisterFile caller;
    const Step step = path.follow(left, caller);
    row = path.row();
    if (step == Step::kCaller) file = caller;
    return step;
  }
  void expect_caller(uint64_t sp, uint64_t fp) {
    ASSERT_EQ(follow(), Step::kCaller);
    EXPECT_EQ(file.registers.value[kPc], kReturnTo);
    EXPECT_EQ(file.registers.value[kSp], sp);
    EXPECT_EQ(file.registers.value[kFp], fp);
  }

  FakeMemory memory;
  RegisterFile file{};
  PackedRow row;
  bool called = false;
};

TEST_F(Aarch64ReturnPath, FromTheFirstInstructionThroughTheWholeFunction) {
  memory.put_code(kFunction, {kSave, 0x9100'03fd /* mov x29, sp */, kCall, kRestore, kRet});
  expect_caller(kFakeStack, kFakeStack + 0x40);
  EXPECT_EQ(row.bits(), PackedRow(PackedRow::kFromSp, 0, 0, 0).bits());
}

TEST_F(Aarch64ReturnPath, BehindACallTheReturnAddressIsOnTheStack) {
  called = true;
  memory.put_code(kFunction, {kRestore, kRet});
  memory.words[kFakeStack] = kCallersFp;
  memory.words[kFakeStack + 8] = kReturnTo;
  expect_caller(kFakeStack + 32, kCallersFp);
  EXPECT_EQ(row.bits(), PackedRow(PackedRow::kFromSp, 4, 4, 3).bits());
}

TEST_F(Aarch64ReturnPath, TheStackPointerComesFromTheFramePointer) {
  called = true;
  memory.put_code(kFunction, {0x9100'03bf /* mov sp, x29 */, kRestore, kRet});
  memory.words[kFakeStack + 0x40] = kCallersFp;
  memory.words[kFakeStack + 0x48] = kReturnTo;
  expect_caller(kFakeStack + 0x40 + 32, kCallersFp);
  EXPECT_EQ(row.bits(), PackedRow(PackedRow::kFromFp, 4, 4, 3).bits());
}

TEST_F(Aarch64ReturnPath, ACallThatDoesNotReturnLeadsToNothing) {
  memory.put_code(kFunction, {kCall, kSave, kRestore, kRet});  // another function follows
  EXPECT_EQ(follow(), Step::kNoRule);
}

TEST_F(Aarch64ReturnPath, BranchesAreTriedInTurn) {
  // cbz x0, +12; brk; nop; ldr x30, [sp], #16; ret
  memory.put_code(kFunction, {0xb400'0060, 0xd420'0000, kNop, 0xf841'07fe, kRet});
  memory.words[kFakeStack] = kReturnTo;
  file.set(kLr, 0);
  expect_caller(kFakeStack + 16, kFakeStack + 0x40);
}

TEST_F(Aarch64ReturnPath, NoReturnIsFound) {
  memory.put_code(kFunction, {0x1400'0000});  // b to itself
  EXPECT_EQ(follow(), Step::kRoot);
  memory.put_code(kFunction, {0xd61f'0000});  // br x0
  EXPECT_EQ(follow(), Step::kRoot);
  memory.put_code(kFunction, {kRet});
  file.set(kLr, 0x7000);  // no call stands before it
  EXPECT_EQ(follow(), Step::kNoRule);
  memory.code.clear();
  EXPECT_EQ(follow(), Step::kNoRule);
}

TEST_F(Aarch64ReturnPath, AStubOfThePltIsATailCall) {
  // adrp x16, …; ldr x17, [x16, #8]; add x16, x16, #8; br x17
  memory.put_code(kFunction, {0x9000'0010, 0xf940'0611, 0x9100'2210, 0xd61f'0220});
  expect_caller(kFakeStack, kFakeStack + 0x40);
}

}  // namespace
}  // namespace sampan::unwind
