// Markers in a recording: written, read back, merged, damaged.
#include "base/markers.h"

#include <gtest/gtest.h>

#include "recording/block.h"
#include "recording/complete_file.h"
#include "recording/example.h"
#include "recording/merge.h"

namespace sampan::recording {
namespace {

constexpr uint64_t kLate = UINT64_MAX - 5;

// One of each kind that `writer` gets, in `blocks` blocks.
void write_markers(Writer& writer, uint64_t blocks = 1) {
  const uint32_t process = writer.add(Process{1, 0, 0, "app"});
  const uint32_t main = writer.add(Thread{process, 1, 0, "main"});
  const uint32_t worker = writer.add(Thread{process, 2, 0, "worker"});
  for (uint64_t i = 0; i < blocks; ++i) {
    const std::string own = "block " + std::to_string(i);
    writer.add(Span{SessionNs(10) + i, SessionNs(20) + i, 7 + i, 0, writer.text("parse"),
                    writer.text("\n;\"\xc3\xa9"), worker, main, SpanKind::kAcross,
                    Closed::kByProcessEnd});
    writer.add(Span{kLate, UINT64_MAX, UINT64_MAX, 7 + i, writer.text(own), 0, main, main});
    writer.add(Event{15, worker, writer.text("parse"), writer.text("value")});
    writer.add(CounterValue{16, -0.125, main, writer.text("queue")});
    writer.add(Section{1, 30, process, worker, writer.text("request"), Closed::kByThreadEnd});
    writer.add(Section{2, 2, process, kNone, writer.text("request")});
    writer.add(Pause{3, 5, process});
    writer.add(Label{4, process, worker, writer.text("the worker"), -3});
    writer.add(Label{4, process, kNone, 0, {}});
    writer.add(Step{123'456'789, 234'567'890, i + 1, 99, worker, writer.text("Task-7"),
                    writer.text("parse"), StepKind::kUnknown});
    writer.flush();
  }
}

Recording written(uint64_t blocks = 1) {
  const test::ScratchDirectory directory;
  {
    Writer writer(directory.file("a"), example_session());
    write_markers(writer, blocks);
  }
  return read(directory.file("a"));
}

void expect_markers(const Markers& markers, uint32_t threads_before = 0, size_t at = 0) {
  const auto text = [&](uint32_t index) { return markers.texts.at(index); };
  const Span& span = markers.spans.at(2 * at);
  EXPECT_EQ(span.begin_ns, 10u);
  EXPECT_EQ(span.end_ns, 20u);
  EXPECT_EQ(span.id, 7u);
  EXPECT_EQ(text(span.name), "parse");
  EXPECT_EQ(text(span.text), "\n;\"\xc3\xa9");
  EXPECT_EQ(span.thread, threads_before + 1);
  EXPECT_EQ(span.end_thread, threads_before);
  EXPECT_EQ(span.kind, SpanKind::kAcross);
  EXPECT_EQ(span.closed, Closed::kByProcessEnd);
  EXPECT_EQ(markers.events.at(at).thread, threads_before + 1);
  EXPECT_EQ(text(markers.events.at(at).text), "value");
  EXPECT_EQ(markers.counters.at(at).value, -0.125);
  EXPECT_EQ(markers.sections.at(2 * at).thread, threads_before + 1);
  EXPECT_EQ(markers.sections.at(2 * at + 1).thread, kNone);
  EXPECT_EQ(text(markers.sections.at(2 * at + 1).name), "request");
  EXPECT_EQ(markers.pauses.at(at).end_ns, 5u);
  EXPECT_EQ(text(markers.labels.at(2 * at).text), "the worker");
  EXPECT_EQ(markers.labels.at(2 * at).order, -3);
  EXPECT_EQ(markers.labels.at(2 * at + 1).thread, kNone);
  EXPECT_FALSE(markers.labels.at(2 * at + 1).order);
  const Step& step = markers.steps.at(at);
  EXPECT_EQ(step.begin_ns, 123'450'000u) << "as times of samples";
  EXPECT_EQ(step.end_ns, 234'560'000u);
  EXPECT_EQ(step.id, 1u);
  EXPECT_EQ(step.task, 99u);
  EXPECT_EQ(step.thread, threads_before + 1);
  EXPECT_EQ(text(step.name), "Task-7");
  EXPECT_EQ(text(step.text), "parse");
  EXPECT_EQ(step.kind, StepKind::kUnknown);
}

TEST(Markers, ComeBack) {
  const Recording recording = written();
  EXPECT_TRUE(recording.damage.empty());
  expect_markers(recording.markers);
  const Span& late = recording.markers.spans.at(1);
  EXPECT_EQ(late.begin_ns, kLate);
  EXPECT_EQ(late.end_ns, UINT64_MAX);
  EXPECT_EQ(late.id, UINT64_MAX);
  EXPECT_EQ(late.parent_id, 7u);
  EXPECT_EQ(recording.markers.texts.size(), 9u) << "each text once";
}

TEST(Markers, OfManyBlocksHaveEachTextOnce) {
  const Recording recording = written(300);
  EXPECT_EQ(recording.markers.spans.size(), 600u);
  EXPECT_EQ(recording.markers.texts.size(), 308u);
  for (uint64_t i = 0; i < 300; ++i) {
    const Span& own = recording.markers.spans[2 * i + 1];
    EXPECT_EQ(recording.markers.texts[own.name], "block " + std::to_string(i));
  }
}

TEST(Markers, AreMerged) {
  std::vector<MergeInput> inputs;
  inputs.push_back({"a", written()});
  inputs.push_back({"b", written()});
  for (MergeInput& input : inputs) {  // no room above them
    for (Span& span : input.recording.markers.spans) {
      span.begin_ns = std::min(span.begin_ns, SessionNs(10));
      span.end_ns = std::min(span.end_ns, SessionNs(20));
    }
  }
  inputs[1].recording.session.start_unix_ns += 1000;
  const test::ScratchDirectory directory;
  write(merge(std::move(inputs), Align::kStart), directory.file("m"));
  const Recording both = read(directory.file("m"));
  expect_markers(both.markers);
  expect_markers(both.markers, 2, 1);
  EXPECT_EQ(both.markers.sections.at(3).process, 1u);
  EXPECT_EQ(both.markers.texts.size(), 9u);
}

TEST(Markers, ALostBlockCostsItsOwnRowsOnly) {
  const test::ScratchDirectory directory;
  {
    Writer writer(directory.file("a"), example_session());
    write_markers(writer, 3);
  }
  const std::string whole = bytes_of(directory.file("a"));
  std::vector<size_t> offsets;
  BlockReader blocks(whole, sizeof(FileHeader));
  for (BlockReader::Block block; blocks.next(&block);) offsets.push_back(block.offset);
  ASSERT_EQ(offsets.size(), 5u);  // session, rows, three of markers
  for (const size_t lost : {1, 2, 3}) {
    std::string bytes = whole;
    bytes[offsets[lost] + sizeof(BlockHeader)] ^= 1;
    const Recording recording = parse(bytes, "x");
    EXPECT_EQ(recording.damage.size(), 1u);
    EXPECT_EQ(recording.markers.spans.size(), lost == 1 ? 6u : 4u);
    EXPECT_EQ(recording.threads.size(), 2u) << "in place of lost ones";
    for (const Span& span : recording.markers.spans) {
      EXPECT_LT(span.thread, recording.threads.size());
      EXPECT_LT(span.name, recording.markers.texts.size());
    }
  }
}

TEST(Markers, OlderVersionsHaveNone) {
  const test::ScratchDirectory directory;
  {
    Writer writer(directory.file("a"), example_session());
    write_example(writer, 2);
  }
  std::string bytes = bytes_of(directory.file("a"));
  for (const char version : {'\2', '\3', '\4'}) {
    bytes[6] = version;
    const Recording recording = parse(bytes, "x");
    EXPECT_TRUE(recording.damage.empty());
    EXPECT_TRUE(recording.markers.empty());
    EXPECT_EQ(recording.samples.size(), 8u);
  }
}

}  // namespace
}  // namespace sampan::recording
