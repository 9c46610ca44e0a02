// Complete walks over hand-written frames in a fake memory.
#include "unwind/stack_walk.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "eh_frame_builder.h"

namespace sampan::unwind {
namespace {

constexpr uint64_t kStackTop = 0x100000;

class StackWalkTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(cache.rows.start());
    cie = frame.cie();
    frame.fde(cie, 0x1000, 0x100, {kDefCfaOffset, 16});   // a: 16 bytes
    frame.fde(cie, 0x1100, 0x100, {kUndefinedOp, kRip});  // the root
    frame.fde(frame.cie("zRS"), 0x1200, 0x100,            // a signal trampoline
              {kDefCfaExpression, 2, breg(kRsp), 0x20, kExpressionOp, kRip, 2, breg(kRsp), 0x08});
    frame.fde(cie, 0x1300, 0x100, {kDefCfaOffset, 16, offset(12), 2});           // saves r12
    frame.fde(cie, 0x1400, 0x100, {kDefCfa, 12, 8});                             // CFA = r12 + 8
    frame.fde(cie, 0x1500, 0x100, {kRegisterOp, kRip, kRdi, kDefCfaOffset, 0});  // ra in rdi
    frame.fde(cie, 0x1600, 0x100, {kDefCfa, kRbp, 16, offset(kRbp), 2});
    frame.fde(cie, 0x1800, 0x100, {kDefCfaOffset, 16});  // after code without
    frame.fde(cie, 0x1900, 0x100,
              {kDefCfaExpression, 2, breg(kRsp), 0x10});  // no packed row says that
    frame.fde(cie, 0x1a00, 0x4, {kDefCfaOffset, 8});
    frame.fde(cie, 0x1a04, 0x100, {kDefCfaOffset, 80});  // has lowered its stack pointer, and jumps
    modules.module.eh_frame_hdr = frame.header();
    modules.module.image = frame.image();
    modules.module.code_start = 0x1000;
    modules.module.code_end = 0x2000;
    registers.value[kRsp] = kStackTop;
  }

  WalkResult walk(bool may_read_modules = true, size_t room = 64) {
    frames.assign(room, 0);
    StackWalk<FakeMemory, FakeModules> walk(memory, modules, cache, may_read_modules);
    const WalkResult result = walk.run(registers, frames, &last);
    frames.resize(result.depth);
    return result;
  }

  EhFrame frame;
  uint64_t cie = 0;
  FakeMemory memory;
  FakeModules modules{};
  WalkCache cache;
  LastWalk last{};
  Registers registers{};
  std::vector<uint64_t> frames;
};

using Frames = std::vector<uint64_t>;

TEST_F(StackWalkTest, ReturnAddressesAreLookedUpAtMinusOne) {
  registers.value[kRip] = 0x1010;
  memory.words = {{kStackTop + 8, 0x1100}, {kStackTop + 24, 0x1150}};  // 0x1100 - 1 is in the first
  for (int round = 0; round < 2; ++round) {  // the second time from the cache
    EXPECT_EQ(walk().stop, wire::StopReason::kRoot);
    EXPECT_EQ(frames, (Frames{0x1010, 0x10ff, 0x114f}));
  }
}

// The rows of the frames that the last walk had at the same places. A walk that may read no module has
// no others once the cache is empty.
TEST_F(StackWalkTest, FramesOfTheLastWalkKeepTheirRows) {
  registers.value[kRip] = 0x1010;
  memory.words = {{kStackTop + 8, 0x1020}, {kStackTop + 24, 0x1030}, {kStackTop + 40, 0x1150}};
  walk();  // finds the rows
  walk();  // from the cache
  cache.rows.stop();
  ASSERT_TRUE(cache.rows.start());
  EXPECT_EQ(walk(false).stop, wire::StopReason::kRoot);
  EXPECT_EQ(frames, (Frames{0x1010, 0x101f, 0x102f, 0x114f}));

  // Called once more, the same frames are deeper; their place is the same.
  registers.value[kRsp] = kStackTop - 16;
  memory.words[kStackTop - 8] = 0x1011;
  EXPECT_EQ(walk(false).stop, wire::StopReason::kUnloading);  // the new leaf
  walk();
  EXPECT_EQ(walk(false).stop, wire::StopReason::kRoot);
  EXPECT_EQ(frames, (Frames{0x1010, 0x1010, 0x101f, 0x102f, 0x114f}));
}

TEST_F(StackWalkTest, RowsOfTheLastWalkAreForgottenWithTheOthers) {
  registers.value[kRip] = 0x1010;
  memory.words = {{kStackTop + 8, 0x1150}};
  walk();
  walk();
  cache.rows.forget();
  EXPECT_EQ(walk(false).stop, wire::StopReason::kUnloading);
}

TEST_F(StackWalkTest, AnInterruptedFrameIsLookedUpAtItsPc) {
  registers.value[kRip] = 0x1010;
  // The interrupted pc is the first byte of the root: one before would be another function.
  memory.words = {{kStackTop + 8, 0x1201}, {kStackTop + 24, 0x1100}};
  EXPECT_EQ(walk().stop, wire::StopReason::kRoot);
  EXPECT_EQ(frames, (Frames{0x1010, 0x1200, 0x1100}));
}

// As gcc's __morestack: the callee's frame lies on a new segment, above its caller's.
TEST_F(StackWalkTest, ACallerOnALowerSegment) {
  constexpr uint64_t kLower = kStackTop - 0x40000;
  registers.value[kRip] = 0x1010;
  registers.value[kRbp] = kLower;
  memory.words = {{kStackTop + 8, 0x1620}, {kLower, 0xb0}, {kLower + 8, 0x1150}};
  EXPECT_EQ(walk().stop, wire::StopReason::kNoProgress);  // no call stands there
  memory.put_call_before(0x1150);
  for (int round = 0; round < 2; ++round) {  // the second time from the cache
    EXPECT_EQ(walk().stop, wire::StopReason::kRoot);
    EXPECT_EQ(frames, (Frames{0x1010, 0x161f, 0x114f}));
  }
}

TEST_F(StackWalkTest, WhatIsJustBelowIsNoSegment) {
  constexpr uint64_t kLower = kStackTop - 0x40;
  registers.value[kRip] = 0x1010;
  registers.value[kRbp] = kLower;
  memory.words = {{kStackTop + 8, 0x1620}, {kLower, 0xb0}, {kLower + 8, 0x1150}};
  memory.put_call_before(0x1150);
  EXPECT_EQ(walk().stop, wire::StopReason::kNoProgress);
}

// As Boost.Context's make_fcontext: code without a table that ends the process, where no call leads to.
TEST_F(StackWalkTest, AFiberBeginsWhereItsFunctionReturnsTo) {
  registers.value[kRip] = 0x1010;
  registers.value[kRbp] = 7;
  memory.words = {{kStackTop + 8, 0x1720}};
  memory.put_code(0x171e, "\xff\xe3");                              // jmp *%rbx
  memory.put_code(0x1720, "\x48\x31\xff\xe8\x01\x02\x03\x04\xf4");  // xor %rdi,%rdi; call; hlt
  EXPECT_EQ(walk().stop, wire::StopReason::kRoot);
  EXPECT_EQ(frames, (Frames{0x1010, 0x171f}));
  memory.put_call_before(0x1720);
  EXPECT_NE(walk().stop, wire::StopReason::kRoot);
}

// As Haskell's code, which a function of the runtime enters by a jump, and which uses the frame of that.
TEST_F(StackWalkTest, CodeThatWasJumpedToHasTheFrameOfTheOneThatJumped) {
  constexpr uint64_t kEntered = 0x1710, kRun = 0x1a00, kReturn = 0x1150, kStack = 0x10000000;
  registers.value[kRsp] = kStack;
  registers.value[kRip] = kEntered;
  registers.value[kRbp] = 0x7000;                     // a stack of its own
  memory.put_code(kEntered, "\xff\x65\x08");          // jmp *8(%rbp)
  memory.put_code(kRun, "\x48\x83\xec\x48\xff\xe7");  // sub $72,%rsp; jmp *%rdi
  memory.words[kReturn - 8] = (kRun - kReturn) << 32 | uint64_t{0xe8} << 24;
  for (uint64_t at = 0; at < 80; at += 8) memory.words[kStack + at] = kReturn;
  memory.words[kStack + 8] = 0x2008;  // data, near the code
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(walk().stop, wire::StopReason::kRoot);
    EXPECT_EQ(frames, (Frames{kEntered, kReturn - 1}));
  }
  EXPECT_EQ(cache.rows.find(kEntered, cache.rows.generation()).cfa_offset(), 80u);
}

// Where the return address is not as far away as the runtime's frame is large, it is another one's.
TEST_F(StackWalkTest, RemainsOfCallsAreNoFrameOfCodeThatWasJumpedTo) {
  constexpr uint64_t kEntered = 0x1710, kRun = 0x1a00, kReturn = 0x1150, kStack = 0x10000000;
  registers.value[kRsp] = kStack;
  registers.value[kRip] = kEntered;
  registers.value[kRbp] = 0x7000;
  memory.put_code(kEntered, "\xff\x65\x08");
  memory.put_code(kRun, "\x48\x83\xec\x48\xff\xe7");
  memory.words[kReturn - 8] = (kRun - kReturn) << 32 | uint64_t{0xe8} << 24;
  for (uint64_t at = 0; at < 72; at += 8) memory.words[kStack + at] = kReturn;
  EXPECT_EQ(walk().stop, wire::StopReason::kNoRule);
  EXPECT_EQ(frames, (Frames{kEntered}));
}

// As LuaJIT's is: for a function that is called inside of another one, the other one's frame.
TEST_F(StackWalkTest, ATableThatLeadsNowhereIsOverruledByTheCode) {
  registers.value[kRip] = 0x1010;
  memory.words = {{kStackTop, 0x1150}, {kStackTop + 8, 0}};
  memory.put_code(0x1010, "\xc3");  // ret
  memory.put_call_before(0x1150);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(walk().stop, wire::StopReason::kRoot);
    EXPECT_EQ(frames, (Frames{0x1010, 0x114f}));
  }
  EXPECT_EQ(cache.take_overruled(), 1u);
  EXPECT_EQ(cache.take_overruled(), 0u);
}

TEST_F(StackWalkTest, ATableThatTheCodeConfirmsIsRight) {
  registers.value[kRip] = 0x1010;
  memory.words = {{kStackTop + 8, 0}, {kStackTop + 24, 0x1150}};
  memory.put_code(0x1010, "\x74\x05\x48\x83\xc4\x08\xc3\x48\x83\xc4\x18\xc3");
  memory.put_call_before(0x1150);  // to where another way of the code leads
  EXPECT_EQ(walk().stop, wire::StopReason::kRoot);
  EXPECT_EQ(frames, (Frames{0x1010}));
}

TEST_F(StackWalkTest, AReturnAddressOnAFirstByteWasPlantedAtTheRoot) {
  registers.value[kRip] = 0x1010;
  memory.words = {{kStackTop + 8, 0x1800}};  // nothing covers the byte before
  EXPECT_EQ(walk().stop, wire::StopReason::kRoot);
  EXPECT_EQ(frames, (Frames{0x1010, 0x1800}));
}

TEST_F(StackWalkTest, AZeroReturnAddressIsTheRoot) {
  registers.value[kRip] = 0x1010;
  memory.words = {{kStackTop + 8, 0}};
  EXPECT_EQ(walk().stop, wire::StopReason::kRoot);
  EXPECT_EQ(frames, (Frames{0x1010}));
}

TEST_F(StackWalkTest, ARegisterThatTheFastPathLostIsFollowedFromTheStart) {
  registers.value[kRip] = 0x1310;
  registers.value[12] = 0xbad;
  memory.words = {
      {kStackTop, kStackTop + 0x100}, {kStackTop + 8, 0x1410}, {kStackTop + 0x100, 0x1110}};
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(walk().stop, wire::StopReason::kRoot);
    EXPECT_EQ(frames, (Frames{0x1310, 0x140f, 0x110f}));
  }
}

TEST_F(StackWalkTest, ALeafMayHaveItsReturnAddressInARegister) {
  registers.value[kRip] = 0x1510;
  registers.value[kRdi] = 0x1110;
  EXPECT_EQ(walk().stop, wire::StopReason::kRoot);
  EXPECT_EQ(frames, (Frames{0x1510, 0x110f}));
}

TEST_F(StackWalkTest, FramesMustGrow) {
  registers.value[kRip] = 0x1610;
  registers.value[kRbp] = kStackTop - 0x40;
  memory.words = {{kStackTop - 0x40, 0}, {kStackTop - 0x38, 0x1010}};
  EXPECT_EQ(walk().stop, wire::StopReason::kNoProgress);
  EXPECT_EQ(frames, (Frames{0x1610}));
}

TEST_F(StackWalkTest, AnUnreadableStackEndsTheWalk) {
  registers.value[kRip] = 0x1010;
  EXPECT_EQ(walk().stop, wire::StopReason::kBadAddress);
}

TEST_F(StackWalkTest, NoRoomIsADepthLimit) {
  registers.value[kRip] = 0x1010;
  for (uint64_t i = 0; i < 100; ++i) memory.words[kStackTop + 8 + 16 * i] = 0x1010;
  EXPECT_EQ(walk().stop, wire::StopReason::kDepthLimit);
  EXPECT_EQ(frames.size(), 64u);
}

// Where there is room for all that is recorded of a stack.
TEST_F(StackWalkTest, ADeeperStackHasItsInnermostAndOutermostFrames) {
  constexpr uint64_t kDepth = 5000;
  registers.value[kRip] = 0x1010;
  for (uint64_t i = 0; i < kDepth; ++i) memory.words[kStackTop + 8 + 16 * i] = 0x1020 + i % 7;
  memory.words[kStackTop + 8 + 16 * kDepth] = 0x1150;
  EXPECT_EQ(walk(true, wire::kMaxFrames).stop, wire::StopReason::kRoot);
  ASSERT_EQ(frames.size(), wire::kMaxFrames);
  const size_t inner = wire::kMaxFrames / 2;
  for (uint64_t i = 1; i < inner; ++i) EXPECT_EQ(frames[i], 0x1020 + (i - 1) % 7 - 1);
  EXPECT_EQ(frames[inner], wire::kFramesLeftOut);
  EXPECT_EQ(frames.back(), 0x114fu);
  for (uint64_t back = 1; back < inner - 1; ++back) {
    EXPECT_EQ(frames[frames.size() - 1 - back], 0x1020 + (kDepth - back) % 7 - 1);
  }
}

TEST_F(StackWalkTest, AStackThatHasNoEndIsADepthLimit) {
  registers.value[kRip] = 0x1010;
  for (uint64_t i = 0; i <= wire::kDeepestStack; ++i) memory.words[kStackTop + 8 + 16 * i] = 0x1010;
  EXPECT_EQ(walk(true, wire::kMaxFrames).stop, wire::StopReason::kDepthLimit);
}

// A walk may search 512 tables.
TEST_F(StackWalkTest, TheWorkOfAWalkIsBounded) {
  registers.value[kRip] = 0x1910;
  for (uint64_t i = 0; i < 1000; ++i) memory.words[kStackTop + 8 + 16 * i] = 0x1910;
  EXPECT_EQ(walk(true, 2000).stop, wire::StopReason::kDepthLimit);
  EXPECT_EQ(frames.size(), 513u);
}

// Eight functions in no module that call each other: the code of each is followed once in a walk.
TEST_F(StackWalkTest, CodeThatIsMadeAtRunTimeIsFollowedOnceHoweverDeepItRecurses) {
  constexpr uint64_t kDepth = 1000;
  registers.value[kRip] = 0x1010;
  for (uint64_t i = 0; i <= kDepth; ++i) {
    memory.words[kStackTop + 16 * i] = 0;
    memory.words[kStackTop + 16 * i + 8] = i == kDepth ? 0x1110 : 0x8010 + i % 8 * 0x1000;
  }
  const std::string code = std::string(200, '\x90') + "\x48\x83\xc4\x08\xc3";  // add rsp, 8; ret
  for (uint64_t made = 0x8010; made <= 0xf010; made += 0x1000) {
    memory.put_call_before(made);
    memory.put_code(made, code);
  }
  memory.put_call_before(0x1110);
  EXPECT_EQ(walk(true, 2000).stop, wire::StopReason::kRoot);
  EXPECT_EQ(frames.size(), kDepth + 2);
}

TEST_F(StackWalkTest, ItsFramePointersAreFollowedAsDeep) {
  constexpr uint64_t kDepth = 1900;
  registers.value[kRip] = 0x8020;
  registers.value[kRbp] = kStackTop;
  for (uint64_t i = 0; i <= kDepth; ++i) {
    memory.words[kStackTop + 16 * i] = kStackTop + 16 * (i + 1);
    memory.words[kStackTop + 16 * i + 8] = i == kDepth ? 0x1110 : 0x8020;
  }
  memory.put_call_before(0x8020);
  memory.put_code(0x8020, std::string(200, '\x90'));
  memory.put_call_before(0x1110);
  EXPECT_EQ(walk(true, 2000).stop, wire::StopReason::kRoot);
  EXPECT_EQ(frames.size(), kDepth + 2);
}

// The code of a pc may say what does not hold in another frame of it.
TEST_F(StackWalkTest, ARowOfMadeCodeMustLeadToBehindACall) {
  registers.value[kRip] = 0x1010;
  registers.value[kRbp] = kStackTop + 40;
  memory.words = {{kStackTop + 8, 0x8010},  {kStackTop + 16, 0}, {kStackTop + 24, 0x8010},
                  {kStackTop + 32, 0x1110}, {kStackTop + 40, 0}, {kStackTop + 48, 0x1120}};
  memory.put_call_before(0x8010);
  memory.put_code(0x8010, "\x48\x83\xc4\x08\xc3");
  memory.put_call_before(0x1120);
  EXPECT_EQ(walk().stop, wire::StopReason::kRoot);
  EXPECT_EQ(frames, (Frames{0x1010, 0x800f, 0x800f, 0x111f}));
}

TEST_F(StackWalkTest, AStackThatEndsInAFunctionSaysNothingOfOthersThroughIt) {
  registers.value[kRip] = 0x1710;
  memory.words = {{kStackTop, 0}};
  memory.put_code(0x1710, "\xc3");  // ret
  memory.put_call_before(0x1110);
  EXPECT_EQ(walk().stop, wire::StopReason::kNoRule);
  memory.words[kStackTop] = 0x1110;
  EXPECT_EQ(walk().stop, wire::StopReason::kRoot);
  EXPECT_EQ(frames, (Frames{0x1710, 0x110f}));
}

TEST_F(StackWalkTest, FramePointersAreBelievedWhereCodeMayNotBeRead) {
  registers.value[kRip] = 0x1710;
  registers.value[kRbp] = kStackTop;
  memory.words = {{kStackTop, kStackTop + 64}, {kStackTop + 8, 0x1110}};
  EXPECT_EQ(walk().stop, wire::StopReason::kNoCall);
  memory.code_may_be_read = false;
  EXPECT_EQ(walk().stop, wire::StopReason::kRoot);
  EXPECT_EQ(frames, (Frames{0x1710, 0x110f}));
}

TEST_F(StackWalkTest, CodeThatNoTableCoversIsSearchedOnce) {
  registers.value[kRip] = 0x1710;
  registers.value[kRbp] = kStackTop;
  constexpr uint64_t kDepth = 1000;
  for (uint64_t i = 0; i < kDepth; ++i) {
    memory.words[kStackTop + 16 * i] = kStackTop + 16 * (i + 1);
    memory.words[kStackTop + 16 * i + 8] = i + 1 < kDepth ? 0x1720 : 0x1110;
  }
  memory.put_call_before(0x1720);
  memory.put_call_before(0x1110);
  EXPECT_EQ(walk(true, 2000).stop, wire::StopReason::kRoot);
  EXPECT_EQ(frames.size(), kDepth + 1);
}

// The leaf has no unwind information, and may be the byte before a function. A return address there
// is planted.
TEST_F(StackWalkTest, AnUncoveredLeafDoesNotHideAPlantedRoot) {
  registers.value[kRip] = 0x17ff;
  registers.value[kRbp] = kStackTop;
  memory.words = {{kStackTop, 0}, {kStackTop + 8, 0x1010}, {kStackTop + 24, 0x1800}};
  memory.put_call_before(0x1010);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(walk().stop, wire::StopReason::kRoot);
    EXPECT_EQ(frames, (Frames{0x17ff, 0x100f, 0x1800}));
  }
}

TEST_F(StackWalkTest, CodeWithoutUnwindInformationHasAFramePointer) {
  registers.value[kRip] = 0x9000;
  registers.value[kRbp] = kStackTop + 0x20;
  memory.words = {{0x9000, 0},
                  {kStackTop + 0x20, kStackTop + 0x80},
                  {kStackTop + 0x28, 0x9100},
                  {kStackTop + 0x80, 0},
                  {kStackTop + 0x88, 0x1110}};
  memory.put_call_before(0x9100);
  memory.put_call_before(0x1110);
  EXPECT_EQ(walk().stop, wire::StopReason::kRoot);
  EXPECT_EQ(frames, (Frames{0x9000, 0x90ff, 0x110f}));
  registers.value[kRbp] = kStackTop - 0x20;  // below the stack pointer
  EXPECT_EQ(walk().stop, wire::StopReason::kNoRule);
}

// As V8's builtins: one way to a return takes the stack pointer from a register that nobody knows
// behind a call.
TEST_F(StackWalkTest, ARegisterThatCannotBeFollowedLeavesTheFramePointer) {
  registers.value[kRip] = 0x1710;
  registers.value[kRbp] = kStackTop + 0x20;
  memory.words = {
      {kStackTop, 0x1720}, {kStackTop + 0x20, kStackTop + 0x80}, {kStackTop + 0x28, 0x1110}};
  memory.put_code(0x1710, "\xc3");              // ret
  memory.put_code(0x1720, "\x48\x89\xc4\xc3");  // mov %rax,%rsp; ret
  memory.put_call_before(0x1720);
  memory.put_call_before(0x1110);
  EXPECT_EQ(walk().stop, wire::StopReason::kRoot);
  EXPECT_EQ(frames, (Frames{0x1710, 0x171f, 0x110f}));
}

// The outermost frame of code without unwind information: its rbp is 0, as the chain says.
TEST_F(StackWalkTest, AChainOfFramePointersEndsInZero) {
  registers.value[kRip] = 0x9000;
  registers.value[kRbp] = kStackTop;
  memory.words = {{0x9000, 0}, {kStackTop, 0}, {kStackTop + 8, 0x9100}};
  memory.put_call_before(0x9100);
  EXPECT_EQ(walk().stop, wire::StopReason::kRoot);
  EXPECT_EQ(frames, (Frames{0x9000, 0x90ff}));
}

// Hand-written code uses rbp for data: a pointer to a pair of words, or a counter that is 0.
TEST_F(StackWalkTest, ARegisterThatIsNoFramePointerEndsTheStack) {
  registers.value[kRip] = 0x9000;
  registers.value[kRbp] = kStackTop + 0x20;
  memory.words = {{0x9000, 0}, {kStackTop + 0x20, 0}, {kStackTop + 0x28, 0x1110}};
  for (const uint64_t word :
       {uint64_t{0x1110}, uint64_t{0x1100}, uint64_t{0x4000'0000}, uint64_t{0}}) {
    memory.words[kStackTop + 0x28] = word;
    EXPECT_EQ(walk().stop, wire::StopReason::kNoCall) << word;
    EXPECT_EQ(frames, (Frames{0x9000}));
  }
  // A function with unwind information, which keeps rbp, was called by such code.
  registers.value[kRip] = 0x1010;
  registers.value[kRbp] = 0;
  memory.words = {{kStackTop + 8, 0x9000}, {0x9000, 0}};
  EXPECT_EQ(walk().stop, wire::StopReason::kNoRule);
  EXPECT_EQ(frames, (Frames{0x1010, 0x8fff}));
}

// "add $8,%rsp; ret", as behind the call in CPython's trampoline; rbp is not touched.
TEST_F(StackWalkTest, InstructionsSayWhereTheCallerIs) {
  registers.value[kRip] = 0x1010;
  registers.value[kRbp] = kStackTop + 0x40;
  memory.words = {{kStackTop + 8, 0x9000},
                  {kStackTop + 24, 0x1610},
                  {kStackTop + 0x40, 0},
                  {kStackTop + 0x48, 0x1110}};
  memory.put_code(0x9000, "\x48\x83\xc4\x08\xc3");
  memory.put_call_before(0x1610);
  EXPECT_EQ(walk().stop, wire::StopReason::kRoot);
  EXPECT_EQ(frames, (Frames{0x1010, 0x8fff, 0x160f, 0x110f}));
  memory.words.erase(kStackTop + 24);
  EXPECT_EQ(walk().stop,
            wire::StopReason::kNoCall);  // rbp is the outer frame's: no call stands there
}

// What was found for a pc of a module is remembered: the instructions are not looked at again.
TEST_F(StackWalkTest, WhatInstructionsSayIsRemembered) {
  registers.value[kRip] = 0x1700;  // no table covers it
  memory.words = {{kStackTop, 0x4711}, {kStackTop + 8, 0x1110}};
  memory.put_code(0x1700, "\x5d\xc3");  // pop %rbp; ret
  memory.put_call_before(0x1110);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(walk().stop, wire::StopReason::kRoot);
    EXPECT_EQ(frames, (Frames{0x1700, 0x110f}));
    memory.words.erase(0x1700);
  }
}

TEST_F(StackWalkTest, ACallThroughABadPointerIsFollowedBack) {
  registers.value[kRip] = 0x9000;  // not readable
  memory.words = {{kStackTop, 0x1010}, {kStackTop + 16, 0x1110}};
  EXPECT_EQ(walk().depth, 1u);  // no call stands before 0x1010
  memory.put_call_before(0x1010);
  EXPECT_EQ(walk().stop, wire::StopReason::kRoot);
  EXPECT_EQ(frames, (Frames{0x9000, 0x100f, 0x110f}));
}

TEST_F(StackWalkTest, WhileModulesAreUnloadedOnlyCachedRowsAreUsed) {
  registers.value[kRip] = 0x1010;
  memory.words = {{kStackTop + 8, 0x1100}, {kStackTop + 24, 0x1150}};
  EXPECT_EQ(walk(false).stop, wire::StopReason::kUnloading);
  EXPECT_EQ(walk(true).stop, wire::StopReason::kRoot);
  EXPECT_EQ(walk(false).stop, wire::StopReason::kRoot);
  cache.rows.forget();
  EXPECT_EQ(walk(false).stop, wire::StopReason::kUnloading);
}

TEST_F(StackWalkTest, DamagedUnwindInformationIsNamed) {
  frame.bytes().assign(frame.bytes().size(), 0xff);
  modules.module.image = frame.image();
  registers.value[kRip] = 0x1010;
  EXPECT_EQ(walk().stop, wire::StopReason::kBadCfi);
}

}  // namespace
}  // namespace sampan::unwind
