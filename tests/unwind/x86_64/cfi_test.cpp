// Rows from hand-written .eh_frame.
#include "unwind/cfi.h"

#include <gtest/gtest.h>

#include "eh_frame_builder.h"
#include "unwind/apply_row.h"
#include "unwind/packed_row.h"

namespace sampan::unwind {
namespace {

constexpr uint64_t kCode = 0x1000;

// Without remembered CIEs.
CfiResult find_row(const Image& image, uint64_t fde, uint64_t pc, CfiRow& row) {
  RecentCies cies;
  return unwind::find_row(image, fde, pc, cies, 0, row);
}

// The row at `pc` of one function of 0x100 bytes with this program.
CfiRow row_at(uint64_t pc, const Program& program) {
  EhFrame frame;
  const uint64_t fde = frame.fde(frame.cie(), kCode, 0x100, program);
  CfiRow row;
  EXPECT_EQ(find_row(frame.image(), fde, pc, row), CfiResult::kFound);
  return row;
}

RegisterFile file_with(uint64_t sp, uint64_t bp = 0) {
  RegisterFile file{{}, kAllRegisters};
  file.registers.value[kRsp] = sp;
  file.registers.value[kRbp] = bp;
  return file;
}

// push %rbp; mov %rsp,%rbp; push %rbx; ... pop %rbx; pop %rbp; ret
const Program kWithFramePointer = {advance_loc(1),
                                   kDefCfaOffset,
                                   16,
                                   offset(kRbp),
                                   2,
                                   advance_loc(3),
                                   kDefCfaRegister,
                                   kRbp,
                                   advance_loc(1),
                                   offset(kRbx),
                                   3,
                                   advance_loc(32),
                                   kDefCfa,
                                   kRsp,
                                   8};

TEST(CfiTest, RowsFollowThePrologue) {
  const auto bits = [](uint64_t pc) { return pack(row_at(pc, kWithFramePointer)).bits(); };
  EXPECT_EQ(bits(kCode), PackedRow(PackedRow::kFromSp, 1, 0, 0).bits());
  EXPECT_EQ(bits(kCode + 1), PackedRow(PackedRow::kFromSp, 2, 2, 0).bits());
  EXPECT_EQ(bits(kCode + 3), PackedRow(PackedRow::kFromSp, 2, 2, 0).bits());
  EXPECT_EQ(bits(kCode + 4), PackedRow(PackedRow::kFromFp, 2, 2, 0).bits());
  EXPECT_EQ(bits(kCode + 5), PackedRow(PackedRow::kFromFp, 2, 2, 3).bits());
  EXPECT_EQ(bits(kCode + 37), PackedRow(PackedRow::kFromSp, 1, 2, 3).bits());
}

TEST(CfiTest, PackedFieldsKeepTheirValues) {
  const PackedRow row(PackedRow::kFromFp, (1 << 21) - 1, (1 << 20) - 1, (1 << 20) - 2);
  EXPECT_EQ(row.kind(), PackedRow::kFromFp);
  EXPECT_EQ(row.cfa_offset(), 8u * ((1 << 21) - 1));
  EXPECT_EQ(row.fp_offset(), 8u * ((1 << 20) - 1));
  EXPECT_EQ(row.other_offset(), 8u * ((1 << 20) - 2));
}

TEST(CfiTest, UnusualRowsDoNotFit) {
  const auto kind = [](const Program& program) { return pack(row_at(kCode, program)).kind(); };
  EXPECT_EQ(kind({kDefCfa, 10, 8}), PackedRow::kNone);     // CFA from r10
  EXPECT_EQ(kind({kDefCfaOffset, 12}), PackedRow::kNone);  // not a multiple of 8
  EXPECT_EQ(kind({kUndefinedOp, kRbp}), PackedRow::kNone);
  EXPECT_EQ(kind({kRegisterOp, kRip, 5}), PackedRow::kNone);  // return address in a register
  EXPECT_EQ(kind({offset(kRip), 2}), PackedRow::kNone);
  EXPECT_EQ(kind({kUndefinedOp, kRip}), PackedRow::kRoot);
}

TEST(CfiTest, RestoreGoesBackToTheCie) {
  const Program program = {offset(kRbx), 3, advance_loc(1), restore(kRbx)};
  EXPECT_EQ(row_at(kCode, program).registers[kRbx].kind(), RegisterRule::kOffset);
  EXPECT_EQ(row_at(kCode + 1, program).registers[kRbx].kind(), RegisterRule::kSame);
}

TEST(CfiTest, RememberedStatesNest) {
  const Program program = {kDefCfaOffset,
                           16,
                           advance_loc(1),  // 1
                           kRememberState,
                           kDefCfaOffset,
                           24,
                           advance_loc(1),  // 2
                           kRememberState,
                           kDefCfaOffset,
                           32,
                           advance_loc(1),  // 3
                           kRestoreState,
                           advance_loc(1),  // 4
                           kRestoreState,
                           advance_loc(1),  // 5
                           kDefCfaOffset,
                           40};
  const int32_t expected[] = {16, 24, 32, 24, 16, 40};
  for (unsigned pc = 0; pc < 6; ++pc) {
    EXPECT_EQ(row_at(kCode + pc, program).cfa_value, expected[pc]) << pc;
  }
}

TEST(CfiTest, RestoringAStateThatWasNotRememberedIsDamage) {
  EhFrame frame;
  const uint64_t fde = frame.fde(frame.cie(), kCode, 0x100, {kRestoreState});
  CfiRow row;
  EXPECT_EQ(find_row(frame.image(), fde, kCode, row), CfiResult::kDamaged);
}

TEST(CfiTest, WorkIsBounded) {
  EhFrame frame;
  const uint64_t fde = frame.fde(frame.cie(), kCode, 0x100, Program(1 << 20, kRememberState));
  CfiRow row;
  EXPECT_EQ(find_row(frame.image(), fde, kCode, row), CfiResult::kDamaged);
}

TEST(CfiTest, FindsTheCallersRegisters) {
  const CfiRow row = row_at(kCode + 5, kWithFramePointer);
  FakeMemory memory;
  memory.words = {{0x7fe8, 3}, {0x7ff0, 0x8100}, {0x7ff8, 0x1234}};
  RegisterFile file = file_with(0x7f00, 0x7ff0);
  EXPECT_EQ(RowApplication<FakeMemory>::apply(row, {}, memory, file), Step::kCaller);
  EXPECT_EQ(file.registers.value[kRip], 0x1234u);
  EXPECT_EQ(file.registers.value[kRsp], 0x8000u);
  EXPECT_EQ(file.registers.value[kRbp], 0x8100u);
  EXPECT_EQ(file.registers.value[kRbx], 3u);
}

TEST(CfiTest, ASlotBelowTheStackPointerIsDead) {
  const CfiRow row = row_at(kCode + 37, kWithFramePointer);  // both are popped already
  FakeMemory memory;
  memory.words = {{0x7fe8, 99}, {0x7ff0, 99}, {0x7ff8, 0x1234}};
  RegisterFile file = file_with(0x7ff8, 0x8100);
  file.registers.value[kRbx] = 3;
  EXPECT_EQ(RowApplication<FakeMemory>::apply(row, {}, memory, file), Step::kCaller);
  EXPECT_EQ(file.registers.value[kRbp], 0x8100u);
  EXPECT_EQ(file.registers.value[kRbx], 3u);
}

// The linker's rule for all entries of a PLT: 8 more from each entry's eleventh byte on, where the
// relocation index has been pushed.
TEST(CfiTest, PltExpression) {
  EhFrame frame;
  const uint64_t fde = frame.fde(frame.cie(), kCode, 0x100,
                                 {kDefCfaExpression, 11, breg(kRsp), 8, breg(kRip), 0, lit(15),
                                  kOpAnd, lit(11), kOpGe, lit(3), kOpShl, kOpPlus});
  for (uint64_t pc : {kCode + 0x20, kCode + 0x2a, kCode + 0x2b, kCode + 0x2f}) {
    CfiRow row;
    ASSERT_EQ(find_row(frame.image(), fde, pc, row), CfiResult::kFound);
    FakeMemory memory;
    memory.words = {{0x7ff0, 1}, {0x7ff8, 2}};
    RegisterFile file = file_with(0x7ff0);
    file.registers.value[kRip] = pc;
    EXPECT_EQ(RowApplication<FakeMemory>::apply(row, frame.image(), memory, file), Step::kCaller);
    EXPECT_EQ(file.registers.value[kRip], pc % 16 >= 11 ? 2u : 1u);
    EXPECT_EQ(file.registers.value[kRsp], pc % 16 >= 11 ? 0x8000u : 0x7ff8u);
  }
}

// gcc's realigned frames: CFA = *(rbp - 8), rbp saved at *(rbp).
TEST(CfiTest, RealignedFrame) {
  EhFrame frame;
  const uint64_t fde =
      frame.fde(frame.cie(), kCode, 0x100,
                {kDefCfaExpression, 3, breg(kRbp), 0x78, kOpDeref, kExpressionOp, kRbp, 2,
                 breg(kRbp), 0, kValExpression, kRbx, 2, breg(kRbp), 0x10});
  CfiRow row;
  ASSERT_EQ(find_row(frame.image(), fde, kCode, row), CfiResult::kFound);
  FakeMemory memory;
  memory.words = {{0x7f78, 0x8000}, {0x7f80, 0x8800}, {0x7ff8, 0x1234}};
  RegisterFile file = file_with(0x7f00, 0x7f80);
  EXPECT_EQ(RowApplication<FakeMemory>::apply(row, frame.image(), memory, file), Step::kCaller);
  EXPECT_EQ(file.registers.value[kRsp], 0x8000u);
  EXPECT_EQ(file.registers.value[kRbp], 0x8800u);
  EXPECT_EQ(file.registers.value[kRbx], 0x7f90u);
  EXPECT_EQ(file.registers.value[kRip], 0x1234u);
}

TEST(CfiTest, AnUnreadableSlotLosesOnlyItsRegister) {
  const CfiRow row = row_at(kCode + 5, kWithFramePointer);
  FakeMemory memory;
  memory.words = {{0x7ff0, 0x8100}, {0x7ff8, 0x1234}};
  RegisterFile file = file_with(0x7f00, 0x7ff0);
  EXPECT_EQ(RowApplication<FakeMemory>::apply(row, {}, memory, file), Step::kCaller);
  EXPECT_FALSE(file.knows(kRbx));
  EXPECT_TRUE(file.knows(kRbp));
  memory.words.erase(0x7ff8);
  file = file_with(0x7f00, 0x7ff0);
  EXPECT_EQ(RowApplication<FakeMemory>::apply(row, {}, memory, file), Step::kBadAddress);
}

class HeaderTest : public testing::TestWithParam<bool> {};

// With the sorted table, and by reading one entry after the other.
TEST_P(HeaderTest, FindsTheFunctionAround) {
  EhFrame frame;
  const uint64_t cie = frame.cie();
  std::vector<uint64_t> fdes;
  for (uint64_t i = 0; i < 7; ++i) fdes.push_back(frame.fde(cie, kCode + i * 0x100, 0x80, {}));
  Module module{};
  module.eh_frame_hdr = frame.header(GetParam());
  module.image = frame.image();
  const auto covered_by = [&](uint64_t pc) {
    uint64_t fde = 0;
    CfiRow row;
    if (find_fde(module, pc, fde) != CfiResult::kFound) return uint64_t{0};
    return find_row(module.image, fde, pc, row) == CfiResult::kFound ? fde : 0;
  };
  EXPECT_EQ(covered_by(kCode - 1), 0u);
  for (uint64_t i = 0; i < 7; ++i) {
    EXPECT_EQ(covered_by(kCode + i * 0x100), fdes[i]);
    EXPECT_EQ(covered_by(kCode + i * 0x100 + 0x7f), fdes[i]);
    EXPECT_EQ(covered_by(kCode + i * 0x100 + 0x80), 0u);
  }
}
INSTANTIATE_TEST_SUITE_P(TableOrNot, HeaderTest, testing::Bool());

TEST(CfiTest, AugmentationsAreKnown) {
  EhFrame frame;
  CfiRow row;
  const uint64_t signal = frame.fde(frame.cie("zRS"), kCode, 0x100, {});
  ASSERT_EQ(find_row(frame.image(), signal, kCode, row), CfiResult::kFound);
  EXPECT_TRUE(row.signal_frame);
  const uint64_t unknown = frame.fde(frame.cie("zR?"), kCode, 0x100, {});
  EXPECT_EQ(find_row(frame.image(), unknown, kCode, row), CfiResult::kDamaged);
}

// Nothing is read beyond the end (the sanitizers check that), and a truncated entry gives no row.
TEST(CfiTest, TruncatedAtEveryLength) {
  EhFrame frame;
  const uint64_t fde = frame.fde(frame.cie(), kCode, 0x100, kWithFramePointer);
  for (size_t size = 0; size < frame.bytes().size(); ++size) {
    const std::vector<uint8_t> cut(frame.bytes().begin(),
                                   frame.bytes().begin() + static_cast<std::ptrdiff_t>(size));
    CfiRow row;
    EXPECT_EQ(find_row({cut, EhFrame::kStart}, fde, kCode, row), CfiResult::kDamaged) << size;
  }
}

}  // namespace
}  // namespace sampan::unwind
