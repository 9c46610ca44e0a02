// Recordings that were cut, changed or never were: what can be read is read, and what is wrong is
// said.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "recording/block.h"
#include "recording/example.h"
#include "recording/format.h"

namespace sampan::recording {
namespace {

std::string example(int flushes) {
  const test::ScratchDirectory directory;
  Writer writer(directory.file("a.sampan"), example_session());
  write_example(writer, flushes);
  writer.finish(example_end());
  return bytes_of(directory.file("a.sampan"));
}

std::vector<size_t> block_offsets(const std::string& bytes) {
  std::vector<size_t> offsets;
  BlockReader blocks(bytes, sizeof(FileHeader));
  for (BlockReader::Block block; blocks.next(&block);) offsets.push_back(block.offset);
  return offsets;
}

void expect_sane(const Recording& recording) {
  for (const Thread& row : recording.threads) ASSERT_LT(row.process, recording.processes.size());
  for (const ThreadName& row : recording.thread_names) {
    ASSERT_LT(row.thread, recording.threads.size());
  }
  for (const ThreadEnd& row : recording.thread_ends) {
    ASSERT_LT(row.thread, recording.threads.size());
  }
  for (const ProcessEnd& row : recording.process_ends) {
    ASSERT_LT(row.process, recording.processes.size());
  }
  for (const Frame& row : recording.frames) {
    ASSERT_TRUE(row.module == kNone || row.module < recording.modules.size());
  }
  for (size_t i = 0; i < recording.stacks.size(); ++i) {
    ASSERT_LT(recording.stacks[i].frame, recording.frames.size());
    ASSERT_TRUE(recording.stacks[i].prefix == kNone || recording.stacks[i].prefix < i);
  }
  for (const Sample& row : recording.samples) {
    ASSERT_LT(row.thread, recording.threads.size());
    ASSERT_TRUE(row.stack == kNone || row.stack < recording.stacks.size());
    ASSERT_TRUE(row.wait == kNone || row.wait < recording.waits.size());
  }
  for (const Allocation& row : recording.allocations) {
    ASSERT_LT(row.thread, recording.threads.size());
    ASSERT_TRUE(row.stack == kNone || row.stack < recording.stacks.size());
  }
  for (const Free& row : recording.frees) ASSERT_LT(row.thread, recording.threads.size());
  for (const Lock& row : recording.locks) ASSERT_LT(row.process, recording.processes.size());
  for (const LockWait& row : recording.lock_waits) ASSERT_LT(row.lock, recording.locks.size());
}

std::string message_of(const std::string& bytes) {
  try {
    parse(bytes, "x.sampan");
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Damage, EveryShorterLengthKeepsTheWholeBlocks) {
  const std::string whole = example(5);
  const std::vector<size_t> offsets = block_offsets(whole);
  ASSERT_EQ(offsets.size(), 8u);  // session, 5 flushes, the rest, end
  for (size_t size = sizeof(FileHeader); size < whole.size(); ++size) {
    const Recording recording = parse(whole.substr(0, size), "x");
    const auto next = std::upper_bound(offsets.begin(), offsets.end(), size);
    const bool between_blocks = std::find(offsets.begin(), offsets.end(), size) != offsets.end();
    const long whole_blocks = next - offsets.begin() - 1;
    EXPECT_EQ(recording.session.program, whole_blocks > 0 ? "zstd" : "") << size;
    EXPECT_EQ(recording.samples.size(), 4 * std::clamp(whole_blocks - 1, 0L, 5L)) << size;
    EXPECT_EQ(recording.damage.empty(), between_blocks && whole_blocks > 0) << size;
    EXPECT_FALSE(recording.end) << size;
    expect_sane(recording);
  }
  const Recording cut = parse(whole.substr(0, offsets[3] + 30), "x");
  EXPECT_EQ(cut.damage, std::vector<std::string>{
                            fmt::format("block at byte {}: cut off (30 bytes lost)", offsets[3])});
}

TEST(Damage, EveryFlippedByteIsNoticed) {
  const std::string whole = example(3);
  for (size_t i = sizeof(FileHeader); i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    const Recording recording = parse(changed, "x");
    EXPECT_FALSE(recording.damage.empty()) << i;
    expect_sane(recording);
  }
}

TEST(Damage, CostsOnlyTheBlockThatHasIt) {
  std::string bytes = example(5);
  const std::vector<size_t> offsets = block_offsets(bytes);
  bytes[offsets[2] + sizeof(BlockHeader)] ^= 1;
  const Recording recording = parse(bytes, "x");
  EXPECT_EQ(recording.damage, std::vector<std::string>{
                                  fmt::format("block at byte {}: checksum differs ({} bytes lost)",
                                              offsets[2], offsets[3] - offsets[2])});
  EXPECT_EQ(recording.samples.size(), 16u);
  EXPECT_TRUE(recording.end);
  expect_sane(recording);
  // The last samples refer to rows before and behind the gap: they are what they were.
  const Sample& sample = recording.samples[12];
  EXPECT_EQ(sample.time_ns, 5 * 4'000'000u);
  EXPECT_EQ(recording.frames[recording.stacks[sample.stack].frame].address, 0x1234u + 4);
}

TEST(Damage, OfTheFirstRowsLeavesPlaceholders) {
  std::string bytes = example(3);
  const std::vector<size_t> offsets = block_offsets(bytes);
  bytes[offsets[1] + 9] ^= 1;  // its size
  const Recording recording = parse(bytes, "x");
  ASSERT_EQ(recording.threads.size(), 2u);
  EXPECT_EQ(recording.threads[0].name, "[lost]");
  EXPECT_EQ(recording.modules[0].path, "[lost]");
  EXPECT_EQ(recording.samples.size(), 8u);
  EXPECT_EQ(recording.waits[0].call, "[lost]");
  uint64_t weight_ns = 0;
  for (const Sample& sample : recording.samples) weight_ns += sample.weight_ns;
  EXPECT_EQ(weight_ns, 2 * (4'000'000u + 3'999'000u + 50'000'000u));
  expect_sane(recording);
}

TEST(Damage, ForeignFilesAreRefused) {
  EXPECT_EQ(message_of(""), "x.sampan: not a sampan recording");
  EXPECT_EQ(message_of("SAMPAN"), "x.sampan: not a sampan recording");
  EXPECT_EQ(message_of("\x7f"
                       "ELF and so on"),
            "x.sampan: not a sampan recording");
}

TEST(Damage, OtherVersionsAreRefusedByName) {
  std::string bytes = example(1);
  bytes[6] = 9;
  EXPECT_EQ(message_of(bytes),
            "x.sampan: recording version 9, this sampan reads 8: use a newer sampan");
  bytes[6] = 1;
  EXPECT_EQ(message_of(bytes),
            "x.sampan: recording version 1, this sampan reads 8: use an older sampan");
}

TEST(Damage, AFileThatCannotBeReadIsNamed) {
  EXPECT_THROW(read("/nonexistent/x.sampan"), Error);
  try {
    read("/nonexistent/x.sampan");
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "opening /nonexistent/x.sampan: No such file or directory");
  }
  EXPECT_THROW(read("/"), Error);
}

// A block with a right checksum can still be made by an enemy, or by a mistake of ours.
TEST(Damage, ContentThatMakesNoSenseIsRejected) {
  std::string bytes = example(1);
  const size_t place = bytes.size();
  BlockEncoder encoder;
  const std::vector<uint8_t> huge_gap = {0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 0, 0};
  encoder.append(BlockType::kRows, huge_gap, &bytes);
  const size_t place_of_unknown = bytes.size();
  encoder.append(static_cast<BlockType>(99), {}, &bytes);
  const Recording recording = parse(bytes, "x");
  ASSERT_EQ(recording.damage.size(), 2u);
  EXPECT_EQ(recording.damage[0],
            fmt::format("block at byte {}: its content makes no sense (34 bytes lost)", place));
  EXPECT_TRUE(recording.damage[1].starts_with(fmt::format("block at byte {}: ", place_of_unknown)));
  EXPECT_EQ(recording.processes.size(), 1u);
  EXPECT_EQ(recording.samples.size(), 4u);
}

TEST(Damage, SmallFilesCannotAskForMuchMemory) {
  std::string bytes = example(1);
  const std::vector<uint8_t> zeros(1 << 20);
  BlockEncoder encoder;
  const size_t before = bytes.size();
  encoder.append(BlockType::kRows, zeros, &bytes);
  EXPECT_GE(bytes.size() - before, zeros.size() / kMaxExpansion);
}

}  // namespace
}  // namespace sampan::recording
