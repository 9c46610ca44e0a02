// The requests that samples belong to: in a file, merged, cut, and where blocks are lost or damaged.
#include <gtest/gtest.h>

#include "recording/codec.h"
#include "recording/complete_file.h"
#include "recording/example.h"
#include "recording/merge.h"
#include "recording/segments.h"

namespace sampan::recording {
namespace {

constexpr int kBlocks = 4;

Recording example(const std::string& path) {
  Writer writer(path, example_session());
  write_example(writer, kBlocks);
  writer.finish(example_end());
  return read(path);
}

// By time, those of the samples that have one.
std::vector<TraceContext> contexts_of(const Recording& recording) {
  std::vector<TraceContext> found;
  for (const Sample& sample : recording.samples) {
    if (sample.context != kNone) found.push_back(recording.contexts.at(sample.context));
  }
  return found;
}

std::vector<TraceContext> wanted(int first = 0, int last = kBlocks) {
  std::vector<TraceContext> contexts;
  for (int i = first; i < last; ++i) contexts.push_back(example_context(i));
  return contexts;
}

TEST(Contexts, ComeBackWithTheirSamples) {
  const test::ScratchDirectory directory;
  const Recording recording = example(directory.file("in"));
  EXPECT_TRUE(recording.damage.empty());
  EXPECT_EQ(contexts_of(recording), wanted());
  write(recording, directory.file("again"), [] { return false; });
  EXPECT_EQ(contexts_of(read(directory.file("again"))), wanted());
}

TEST(Contexts, AreMergedAndCut) {
  const test::ScratchDirectory directory;
  std::vector<MergeInput> inputs;
  inputs.push_back({"a", example(directory.file("a"))});
  inputs.push_back({"b", example(directory.file("b"))});
  const Recording merged = merge(std::move(inputs), Align::kStart);
  EXPECT_EQ(merged.contexts.size(), size_t{kBlocks});  // both have the same
  std::vector<TraceContext> twice = wanted();
  twice.insert(twice.end(), twice.begin(), twice.begin() + kBlocks);
  EXPECT_EQ(contexts_of(merged), twice);
  const Recording part = cut(read(directory.file("a")), 8'000'000, 15'000'000);
  EXPECT_EQ(contexts_of(part), wanted(1, 3));
  EXPECT_EQ(part.contexts.size(), 2u);
}

TEST(Contexts, ALostBlockCostsItsOwnOnly) {
  const test::ScratchDirectory directory;
  example(directory.file("in"));
  std::string bytes = bytes_of(directory.file("in"));
  const Recording whole = parse(bytes, "whole");
  // The rows of the second flush.
  const size_t at = bytes.find("SBLK", bytes.find("SBLK", bytes.find("SBLK") + 4) + 4);
  bytes[at + 24] = static_cast<char>(bytes[at + 24] ^ 1);
  const Recording damaged = parse(bytes, "damaged");
  EXPECT_FALSE(damaged.damage.empty());
  std::vector<TraceContext> left = wanted();
  left.erase(left.begin() + 1);
  EXPECT_EQ(contexts_of(damaged), left);
}

Recording rows_with(uint32_t context) {
  Recording rows;
  rows.processes.push_back({1, 0, 0, "p"});
  rows.threads.push_back({0, 1, 0, "t"});
  rows.contexts.push_back(example_context(1));
  rows.samples.push_back({0, kNone, 10'000, 1000, wire::StopReason::kRoot, kNone, context});
  rows.samples.push_back({0, kNone, 20'000, 1000, wire::StopReason::kRoot, kNone, kNone});
  return rows;
}

TEST(ContextsCodec, RefusesWhatIsCutOrRefersNowhere) {
  const auto decodes = [](std::span<const uint8_t> payload) {
    Recording to;
    uint64_t lost = 0;
    const bool valid = decode_rows(payload, 1, &lost, &to);
    EXPECT_EQ(valid, !to.samples.empty());
    EXPECT_EQ(valid, !to.contexts.empty());
    return valid;
  };
  ColumnWriter out, without;
  encode_rows(rows_with(0), {}, &out);
  EXPECT_TRUE(decodes(out.bytes()));
  Recording none = rows_with(kNone);
  none.contexts.clear();
  encode_rows(none, {}, &without);
  // What ends before them is a block without any.
  for (size_t size = without.bytes().size() + 1; size < out.bytes().size(); ++size) {
    EXPECT_FALSE(decodes(out.bytes().first(size))) << size;
  }
  out.clear();
  encode_rows(rows_with(1), {}, &out);  // there is only one
  EXPECT_FALSE(decodes(out.bytes()));
}

}  // namespace
}  // namespace sampan::recording
