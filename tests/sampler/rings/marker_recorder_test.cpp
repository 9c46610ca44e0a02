// Markers that the shim writes into lanes, and the rows that they become in the recording.
#include "sampler/rings/marker_recorder.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>

#include "fake_shim.h"
#include "recording/reader.h"
#include "recording/segments.h"
#include "sampler/rings/shim_process.h"
#include "wire/marker_lane.h"

namespace sampan::sampler {
namespace {

using recording::Closed;
using recording::Recording;
using recording::Span;
using wire::MarkerRecord;
using wire::MarkerType;

constexpr uint64_t kSessionStart = 1'000;  // of the session
constexpr uint32_t kSlots = wire::kFewestSlots;
constexpr int32_t kMain = 100, kOther = 101;

MarkerRecord marker(MarkerType type, int32_t tid, std::vector<uint64_t> values,
                    uint16_t flags = 0) {
  MarkerRecord record{};
  record.type = static_cast<uint8_t>(type);
  record.tid = tid;
  record.flags = flags;
  record.name = wire::kInlineName;
  std::copy(values.begin(), values.end(), record.value);
  return record;
}

// A process with two threads in the first two slots.
class MarkerRecorderTest : public testing::Test {
 protected:
  explicit MarkerRecorderTest(OpenIntervals::Switches switches = {}) {
    std::filesystem::remove(path_);
    writer_.emplace(path_, recording::Session{});
    SharedMemory memory(kSlots);
    shim_.emplace(memory.base());
    base_ = memory.base();
    ShimProcess::Origin origin{100, 99, "/bin/prog", {kSessionStart}, kSessionStart + 5, 0};
    origin.switches = switches;
    process_.emplace(*writer_, origin, std::move(memory));
    shim_->thread(0, wire::RecordType::kThreadStart,
                  thread_start(kMain, kSessionStart + 10, 0, "main"));
    shim_->thread(1, wire::RecordType::kThreadStart,
                  thread_start(kOther, kSessionStart + 10, 0, "o"));
  }
  ~MarkerRecorderTest() override { std::filesystem::remove(path_); }

  void say(uint32_t lane, const MarkerRecord& record, std::string_view name = {},
           std::string_view text = {}) {
    wire::LaneWriter writer(wire::lane_positions(base_, kSlots, lane),
                            wire::lane_cells(base_, kSlots, lane));
    EXPECT_TRUE(writer.write(record, name, text));
  }
  void intern(const std::string& name) {
    wire::MarkerNames* names = wire::marker_names(base_, kSlots);
    const uint32_t used = names->used.load();
    std::memcpy(names->text + used, name.data(), name.size());
    names->entries[names->count] = {used, static_cast<uint32_t>(name.size())};
    names->used = used + static_cast<uint32_t>(name.size());
    ++names->count;
  }
  void open(uint32_t slot, uint32_t depth, uint64_t id, uint64_t begin_ns, uint64_t parent_id,
            uint32_t name) {
    wire::OpenSpan& span = wire::thread_slot(base_, slot)->open.spans[depth];
    span.begin_ns = begin_ns;
    span.parent_id = parent_id;
    span.name = name;
    span.id = id;
  }

  Recording finish(MonotonicNs time_ns = kSessionStart + 1000) {
    process_->finish({time_ns});
    writer_->finish({});
    return recording::read(path_);
  }
  static uint64_t lost(const Recording& recording, wire::Loss loss) {
    return recording.losses.empty() ? 0 : recording.losses.back().count[static_cast<size_t>(loss)];
  }

  const std::string path_ = testing::TempDir() + "markers-" + std::to_string(getpid()) + ".sampan";
  std::optional<recording::Writer> writer_;
  std::optional<FakeShim> shim_;
  std::optional<ShimProcess> process_;
  void* base_ = nullptr;
};

TEST_F(MarkerRecorderTest, TakesASpanWithItsNameAndText) {
  intern("par\xffse");
  MarkerRecord span =
      marker(MarkerType::kSpan, kOther, {kSessionStart + 20, kSessionStart + 50, 7, 3});
  span.name = 0;
  say(1, marker(MarkerType::kSpanText, kOther, {7}), {}, "first");
  say(1, marker(MarkerType::kSpanText, kOther, {7}), {}, "a;b\n");
  say(1, span);
  span.value[2] = 8;
  say(1, span);
  const Recording recording = finish();
  ASSERT_EQ(recording.markers.spans.size(), 2u);
  const Span& row = recording.markers.spans[0];
  EXPECT_EQ(row.begin_ns, 20u);
  EXPECT_EQ(row.end_ns, 50u);
  EXPECT_EQ(row.id, 7u);
  EXPECT_EQ(row.parent_id, 3u);
  EXPECT_EQ(recording.threads[row.thread].tid, kOther);
  EXPECT_EQ(recording.markers.texts[row.name], "par\xef\xbf\xbdse");
  EXPECT_EQ(recording.markers.texts[row.text], "a;b\n");
  EXPECT_EQ(recording.markers.spans[1].text, 0u) << "the text was of the other";
  EXPECT_TRUE(recording.losses.empty());
}

TEST_F(MarkerRecorderTest, TakesEventsCountersAndLabels) {
  const auto bits = [](double value) { return std::bit_cast<uint64_t>(value); };
  say(0, marker(MarkerType::kEvent, kMain, {kSessionStart + 20}), "full", "why");
  say(0, marker(MarkerType::kCounter, kMain, {kSessionStart + 21, bits(-2.5)}), "queue");
  say(0, marker(MarkerType::kCounter, kMain, {kSessionStart + 21, bits(NAN)}), "queue");
  say(0, marker(MarkerType::kThreadLabel, kMain, {kSessionStart + 22, 0}), {}, "the main one");
  say(0, marker(MarkerType::kProcessLabel, kMain, {kSessionStart + 23, static_cast<uint64_t>(-4)},
                wire::kHasOrder));
  const Recording recording = finish();
  const recording::Markers& markers = recording.markers;
  ASSERT_EQ(markers.events.size(), 1u);
  EXPECT_EQ(markers.texts[markers.events[0].text], "why");
  ASSERT_EQ(markers.counters.size(), 1u);
  EXPECT_EQ(markers.counters[0].value, -2.5);
  ASSERT_EQ(markers.labels.size(), 2u);
  EXPECT_EQ(markers.texts[markers.labels[0].text], "the main one");
  EXPECT_FALSE(markers.labels[0].order);
  EXPECT_EQ(markers.labels[1].thread, recording::kNone);
  EXPECT_EQ(markers.labels[1].order, -4);
  EXPECT_EQ(lost(recording, wire::Loss::kRingCorrupt), 1u) << "what is no number";
}

// The lane with the end is read before the lane with the begin.
TEST_F(MarkerRecorderTest, AnEndFindsItsBeginInALaterLane) {
  say(0, marker(MarkerType::kAcrossEnd, kMain, {kSessionStart + 60, 9}));
  say(0, marker(MarkerType::kSectionStop, kMain, {kSessionStart + 61}), "request");
  process_->drain();
  say(1, marker(MarkerType::kAcrossBegin, kOther, {kSessionStart + 30, 9, 2}), "job");
  say(1, marker(MarkerType::kSectionStart, kOther, {kSessionStart + 31}), "request");
  const Recording recording = finish();
  ASSERT_EQ(recording.markers.spans.size(), 1u);
  const Span& span = recording.markers.spans[0];
  EXPECT_EQ(span.kind, recording::SpanKind::kAcross);
  EXPECT_EQ(span.begin_ns, 30u);
  EXPECT_EQ(span.end_ns, 60u);
  EXPECT_EQ(recording.threads[span.thread].tid, kOther);
  EXPECT_EQ(recording.threads[span.end_thread].tid, kMain);
  ASSERT_EQ(recording.markers.sections.size(), 1u);
  EXPECT_EQ(recording.markers.sections[0].begin_ns, 31u);
  EXPECT_EQ(recording.markers.sections[0].end_ns, 61u);
  EXPECT_EQ(recording.markers.sections[0].thread, recording::kNone);
  EXPECT_TRUE(recording.losses.empty());
}

TEST_F(MarkerRecorderTest, ClosesWhatIsOpenWhenTheProcessEnds) {
  intern("outer");
  open(0, 0, 5, kSessionStart + 20, 0, 0);
  say(0, marker(MarkerType::kSpanName, kMain, {6}), "not interned");
  open(0, 1, 6, kSessionStart + 30, 5, wire::kInlineName);
  open(0, 2, 7, kSessionStart + 40, 6, 0);  // killed when its end was written, and read before
  say(0, marker(MarkerType::kSpan, kMain, {kSessionStart + 40, kSessionStart + 45, 7, 6}), "ended");
  say(1, marker(MarkerType::kAcrossBegin, kOther, {kSessionStart + 30, 9, 2}), "job");
  say(1, marker(MarkerType::kSectionStart, kOther, {kSessionStart + 31}), "request");
  process_->drain();
  const Recording recording = finish(kSessionStart + 500);
  std::map<uint64_t, Span> spans;
  for (const Span& span : recording.markers.spans) spans[span.id] = span;
  EXPECT_EQ(recording.markers.spans.size(), 4u);
  for (const uint64_t id : {5, 6, 9}) {
    EXPECT_EQ(spans[id].closed, Closed::kByProcessEnd) << id;
    EXPECT_EQ(spans[id].end_ns, 500u) << id;
  }
  EXPECT_EQ(spans[7].closed, Closed::kByProgram);
  EXPECT_EQ(spans[6].parent_id, 5u);
  EXPECT_EQ(recording.markers.texts[spans[6].name], "not interned");
  ASSERT_EQ(recording.markers.sections.size(), 1u);
  EXPECT_EQ(recording.markers.sections[0].closed, Closed::kByProcessEnd);
}

TEST_F(MarkerRecorderTest, ClosesTheSectionsOfAThreadWithIt) {
  for (const char* name : {"one", "two"}) {
    say(1, marker(MarkerType::kSectionStart, kOther, {kSessionStart + 31}, wire::kCallingThread),
        name);
  }
  shim_->thread(1, wire::RecordType::kThreadEnd, thread_end(kSessionStart + 70, 5));
  const Recording recording = finish();
  ASSERT_EQ(recording.markers.sections.size(), 2u);
  for (const recording::Section& section : recording.markers.sections) {
    EXPECT_EQ(section.end_ns, 70u);
    EXPECT_EQ(section.closed, Closed::kByThreadEnd);
    EXPECT_EQ(recording.threads[section.thread].tid, kOther);
  }
}

TEST_F(MarkerRecorderTest, CountsWhatHasNoBeginning) {
  say(0, marker(MarkerType::kAcrossEnd, kMain, {kSessionStart + 60, 9}));
  say(0, marker(MarkerType::kSectionStop, kMain, {kSessionStart + 61}), "request");
  say(0, marker(MarkerType::kEvent, 4711, {kSessionStart + 62}), "of nobody");
  say(0, marker(MarkerType(99), kMain, {kSessionStart + 62}), "of no kind");
  MarkerRecord unknown = marker(MarkerType::kEvent, kMain, {kSessionStart + 62});
  unknown.name = 77;
  say(0, unknown);
  wire::lane_positions(base_, kSlots, 1)->head += 2;
  const Recording recording = finish();
  EXPECT_TRUE(recording.markers.empty());
  EXPECT_EQ(lost(recording, wire::Loss::kMarkerUnmatched), 2u);
  EXPECT_EQ(lost(recording, wire::Loss::kMarkerNoThread), 1u);
  EXPECT_EQ(lost(recording, wire::Loss::kRingCorrupt), 2u);
  EXPECT_EQ(lost(recording, wire::Loss::kMarkerHole), 1u);
}

TEST_F(MarkerRecorderTest, PausesAreIntervals) {
  say(0, marker(MarkerType::kPause, kMain, {kSessionStart + 100}));
  say(1, marker(MarkerType::kPause, kOther, {kSessionStart + 110}));
  say(1, marker(MarkerType::kResume, kOther, {kSessionStart + 150}));
  process_->drain();
  process_->set_paused(true, kSessionStart + 300);
  process_->set_paused(true, kSessionStart + 310);
  const Recording recording = finish(kSessionStart + 1000);
  ASSERT_EQ(recording.markers.pauses.size(), 2u);
  EXPECT_EQ(recording.markers.pauses[0].begin_ns, 100u);
  EXPECT_EQ(recording.markers.pauses[0].end_ns, 150u);
  EXPECT_EQ(recording.markers.pauses[1].begin_ns, 300u);
  EXPECT_EQ(recording.markers.pauses[1].end_ns, 1000u);
}

TEST_F(MarkerRecorderTest, DividesSectionsAndPausesBetweenSegments) {
  say(0, marker(MarkerType::kSectionStart, kMain, {kSessionStart + 30}), "request");
  say(0, marker(MarkerType::kPause, kMain, {kSessionStart + 50}));
  for (int round = 0; round < 2; ++round) process_->drain();
  const std::string second = path_ + "2";
  std::filesystem::remove(second);
  process_->end_segment(kSessionStart + 200);
  writer_->rotate(second, 200);
  say(0, marker(MarkerType::kResume, kMain, {kSessionStart + 250}));
  say(0, marker(MarkerType::kSectionStop, kMain, {kSessionStart + 300}), "request");
  recording::Joiner joiner;
  const Recording before = finish(), after = recording::read(second);
  std::filesystem::remove(second);
  ASSERT_EQ(before.markers.sections.size(), 1u);
  EXPECT_EQ(before.markers.sections[0].end_ns, 200u);
  EXPECT_EQ(before.markers.sections[0].closed, Closed::kBySegmentEnd);
  ASSERT_EQ(after.markers.sections.size(), 1u);
  EXPECT_EQ(after.markers.sections[0].begin_ns, 200u);
  joiner.add(before);
  joiner.add(after);
  const Recording joined = joiner.finish();
  ASSERT_EQ(joined.markers.sections.size(), 1u);
  EXPECT_EQ(joined.markers.sections[0].begin_ns, 30u);
  EXPECT_EQ(joined.markers.sections[0].end_ns, 300u);
  EXPECT_EQ(joined.markers.sections[0].closed, Closed::kByProgram);
  ASSERT_EQ(joined.markers.pauses.size(), 1u);
  EXPECT_EQ(joined.markers.pauses[0].begin_ns, 50u);
  EXPECT_EQ(joined.markers.pauses[0].end_ns, 250u);
}

class SectionsOnlyTest : public MarkerRecorderTest {
 protected:
  SectionsOnlyTest() : MarkerRecorderTest({.paused = false, .sections_only = true}) {}
};

TEST_F(SectionsOnlyTest, SamplingIsOffWhereNoSectionIsOpen) {
  say(0, marker(MarkerType::kSectionStart, kMain, {kSessionStart + 100}), "a");
  say(1, marker(MarkerType::kSectionStart, kOther, {kSessionStart + 110}), "b");
  say(0, marker(MarkerType::kSectionStop, kMain, {kSessionStart + 120}), "a");
  say(1, marker(MarkerType::kSectionStop, kOther, {kSessionStart + 150}), "b");
  const Recording recording = finish(kSessionStart + 1000);
  ASSERT_EQ(recording.markers.pauses.size(), 2u);
  EXPECT_EQ(recording.markers.pauses[0].begin_ns, 5u) << "when the process began";
  EXPECT_EQ(recording.markers.pauses[0].end_ns, 100u);
  EXPECT_EQ(recording.markers.pauses[1].begin_ns, 150u);
  EXPECT_EQ(recording.markers.pauses[1].end_ns, 1000u);
}

}  // namespace
}  // namespace sampan::sampler
