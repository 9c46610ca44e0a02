// Small functions by their code alone.
#include "unwind/return_path.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string_view>

#include "eh_frame_builder.h"

namespace sampan::unwind {
namespace {

using namespace std::literals;

constexpr uint64_t kFunction = 0x9000, kStackPointer = 0x100000, kReturnAddress = 0x5010;
constexpr uint64_t kCallersBp = 0xb0, kCallersBx = 0xb1;

class ReturnPathTest : public testing::Test {
 protected:
  void SetUp() override {
    memory.put_call_before(kReturnAddress);
    file.set(kRip, kFunction);
    file.set(kRsp, kStackPointer);
    file.set(kRbp, kStackPointer + 0x40);
    file.set(kRbx, kCallersBx);
    file.known = kAllRegisters;
  }

  // Words from kStackPointer on; the return address is the last.
  void put_stack(std::initializer_list<uint64_t> words) {
    uint64_t at = kStackPointer;
    for (const uint64_t word : words) memory.words[std::exchange(at, at + 8)] = word;
    memory.words[at] = kReturnAddress;
    cfa = at + 8;
  }

  Step follow(uint16_t most = 100) {
    ReturnPath path(memory, file, called, Returns::kAny);
    uint16_t left = most;
    RegisterFile caller;
    const Step step = path.follow(left, caller);
    row = path.row();
    if (step == Step::kCaller) file = caller;
    return step;
  }
  void expect_caller() {
    ASSERT_EQ(follow(), Step::kCaller);
    EXPECT_EQ(file.registers.value[kRip], kReturnAddress);
    EXPECT_EQ(file.registers.value[kRsp], cfa);
  }

  FakeMemory memory;
  RegisterFile file{};
  PackedRow row;
  uint64_t cfa = 0;
  bool called = false;
};

TEST_F(ReturnPathTest, RestoresWhatTheFunctionSaved) {
  memory.put_code(
      kFunction,
      "\x31\xc0\x48\x83\xc4\x10\x5b\x5d\xc3"sv);  // xor; add $16,%rsp; pop %rbx; pop %rbp; ret
  put_stack({1, 2, 7, kCallersBp});
  expect_caller();
  EXPECT_EQ(file.registers.value[kRbp], kCallersBp);
  EXPECT_EQ(file.registers.value[kRbx], 7u);
  EXPECT_EQ(row.kind(), PackedRow::kFromSp);
  EXPECT_EQ(row.cfa_offset(), 40u);
  EXPECT_EQ(row.fp_offset(), 16u);
  EXPECT_EQ(row.other_offset(), 24u);
}

TEST_F(ReturnPathTest, APrologueIsFollowedToo) {
  // push %rbx; sub $16,%rsp; mov %rsp,%rbp (no frame pointer); add $16,%rsp; pop %rbx; ret
  memory.put_code(kFunction, "\x53\x48\x83\xec\x10\x48\x83\xc4\x10\x5b\xc3"sv);
  put_stack({});
  expect_caller();
  EXPECT_EQ(file.registers.value[kRbx], kCallersBx);
  EXPECT_EQ(row.cfa_offset(), 8u);
  EXPECT_EQ(row.other_offset(), 0u);
}

TEST_F(ReturnPathTest, FramePointersOfTheFunctionItself) {
  memory.put_code(kFunction, "\x90\xc9\xc3"sv);  // nop; leave; ret
  memory.words[kStackPointer + 0x40] = kCallersBp;
  memory.words[kStackPointer + 0x48] = kReturnAddress;
  cfa = kStackPointer + 0x50;
  expect_caller();
  EXPECT_EQ(row.kind(), PackedRow::kFromFp);
  EXPECT_EQ(row.cfa_offset(), 16u);
  EXPECT_EQ(file.registers.value[kRbp], kCallersBp);
}

// x264's functions align the stack, with the old stack pointer in a register or in a slot.
TEST_F(ReturnPathTest, StacksThatAreAligned) {
  file.set(14, kStackPointer + 0x40);
  memory.put_code(kFunction, "\x4c\x89\xf4\xc3"sv);  // mov %r14,%rsp; ret
  memory.words[kStackPointer + 0x40] = kReturnAddress;
  cfa = kStackPointer + 0x48;
  expect_caller();
  EXPECT_EQ(row.kind(), PackedRow::kNone);
}

TEST_F(ReturnPathTest, APrologueThatAligns) {
  // mov %rsp,%rax; sub $0x20,%rsp; and $-32,%rsp; mov %rax,0x10(%rsp); mov %rax,%rsp; ret
  memory.put_code(
      kFunction,
      "\x48\x89\xe0\x48\x83\xec\x20\x48\x83\xe4\xe0\x48\x89\x44\x24\x10\x48\x89\xc4\xc3"sv);
  put_stack({});
  expect_caller();
  EXPECT_EQ(row.cfa_offset(), 8u);
}

// V8's CEntry takes its return address off the stack, drops the arguments, and pushes it again. What
// lies in its place so far is an argument, which may look like a return address.
TEST_F(ReturnPathTest, AReturnAddressThatIsPushedAgain) {
  file.set(15, kStackPointer + 0x20);
  // pop %rcx; lea 8(%r15),%rsp; push %rcx; ret
  memory.put_code(kFunction, "\x59\x49\x8d\x67\x08\x51\xc3"sv);
  memory.words[kStackPointer] = kReturnAddress;
  memory.words[kStackPointer + 0x20] = 0x4000;
  cfa = kStackPointer + 0x28;
  expect_caller();
  EXPECT_EQ(row.kind(), PackedRow::kNone);
  memory.words[kStackPointer + 0x20] = kReturnAddress;
  memory.words[kStackPointer] = 0x4000;
  EXPECT_EQ(follow(), Step::kNoRule);
}

// A function that this one jumps to at its end saves registers where this one has saved them.
TEST_F(ReturnPathTest, ATailCallSavesRegistersAnew) {
  // pop %rbx; pop %rbp; jmp; push %rbp; push %rbx; mov %rdi,%rbx; pop %rbx; pop %rbp; ret
  memory.put_code(kFunction, "\x5b\x5d\xeb\x00\x55\x53\x48\x89\xfb\x5b\x5d\xc3"sv);
  put_stack({7, kCallersBp});
  expect_caller();
  EXPECT_EQ(file.registers.value[kRbx], 7u);
  EXPECT_EQ(file.registers.value[kRbp], kCallersBp);
  EXPECT_EQ(row.fp_offset(), 16u);
  EXPECT_EQ(row.other_offset(), 24u);
}

TEST_F(ReturnPathTest, ARegisterThatIsNotKnownIsAskedFor) {
  file.known = kPackedRegisters;
  memory.put_code(kFunction, "\x4c\x89\xf4\xc3"sv);  // mov %r14,%rsp; ret
  EXPECT_EQ(follow(), Step::kLostRegister);
}

// x264's hadamard_ac keeps its stack pointer in rcx, which the functions that it calls leave alone.
TEST_F(ReturnPathTest, HandWrittenCodeKnowsWhatItsCallsLeaveAlone) {
  called = true;
  file.set(kRcx, kStackPointer + 0x40);
  memory.put_code(kFunction, "\xe8\x00\x00\x00\x00\x48\x89\xcc\xc3"sv);  // call; mov %rcx,%rsp; ret
  memory.words[kStackPointer + 0x40] = kReturnAddress;
  cfa = kStackPointer + 0x48;
  expect_caller();
  EXPECT_TRUE(file.knows(kRcx));
}

TEST_F(ReturnPathTest, TheResultOfACallIsNotWhatTheRegisterWasBefore) {
  called = true;
  file.set(kRax, kStackPointer + 0x40);
  memory.put_code(kFunction, "\xe8\x00\x00\x00\x00\x48\x89\xc4\xc3"sv);  // call; mov %rax,%rsp; ret
  memory.words[kStackPointer + 0x40] = kReturnAddress;
  EXPECT_EQ(follow(), Step::kLostRegister);
}

TEST_F(ReturnPathTest, LoopsAndCallsThatDoNotReturnAreLeft) {
  // 0: dec %rdi; 3: jnz 0; 5: je 9; 7: ud2; 9: jmp 13; 11: ud2; 13: ret
  memory.put_code(kFunction, "\x48\xff\xcf\x75\xfb\x74\x02\x0f\x0b\xeb\x02\x0f\x0b\xc3"sv);
  put_stack({});
  expect_caller();
}

TEST_F(ReturnPathTest, NoReturnIsFound) {
  memory.put_code(kFunction, "\xeb\xfe"sv);  // jmp to itself
  EXPECT_EQ(follow(), Step::kRoot);
  memory.words.clear();
  memory.put_code(kFunction, "\xf4"sv);  // hlt
  EXPECT_EQ(follow(), Step::kRoot);
  memory.words.clear();
  memory.put_code(kFunction, "\xff\xe0"sv);  // jmp *%rax
  EXPECT_EQ(follow(), Step::kRoot);
  memory.words.clear();
  memory.put_code(kFunction, "\xc3"sv);  // to where no call stands
  memory.words[kStackPointer] = 0x60'0000;
  EXPECT_EQ(follow(), Step::kNoRule);
  memory.words.clear();
  EXPECT_EQ(follow(), Step::kNoRule);  // code that cannot be read
}

}  // namespace
}  // namespace sampan::unwind
