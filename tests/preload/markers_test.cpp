// What the shim writes into the lanes for correct and wrong uses of markers.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

#include "fake_collector.h"

namespace sampan::preload::test {
namespace {

using wire::Loss;
using wire::MarkerType;

RunResult run(std::vector<std::string> words, const RunOptions& options = {}) {
  words.insert(words.begin(), SAMPAN_TARGETS "/target_markers");
  RunResult result = run_with_shim(words, options);
  EXPECT_EQ(result.status, 0);
  for (const ProcessRecords& process : result.processes) EXPECT_EQ(process.corrupt, 0u);
  return result;
}

// The only process of a run.
ProcessRecords run_one(const std::vector<std::string>& words) {
  RunResult result = run(words);
  EXPECT_EQ(result.processes.size(), 1u);
  return result.processes.empty() ? ProcessRecords{} : result.processes[0];
}

std::vector<MarkerSeen> of_type(const ProcessRecords& process, MarkerType type) {
  std::vector<MarkerSeen> found;
  std::copy_if(process.markers.begin(), process.markers.end(), std::back_inserter(found),
               [type](const MarkerSeen& marker) { return marker.type == type; });
  return found;
}

std::vector<std::string> names_of(const std::vector<MarkerSeen>& markers) {
  std::vector<std::string> names;
  for (const MarkerSeen& marker : markers) names.push_back(marker.name);
  return names;
}

using Names = std::vector<std::string>;

const MarkerSeen& span_named(const std::vector<MarkerSeen>& spans, std::string_view name) {
  static const MarkerSeen none{};
  const auto found = std::find_if(spans.begin(), spans.end(),
                                  [&](const MarkerSeen& span) { return span.name == name; });
  EXPECT_NE(found, spans.end()) << name;
  return found == spans.end() ? none : *found;
}

uint64_t id_of(const MarkerSeen& span) {
  return span.value[2];
}
uint64_t parent_of(const MarkerSeen& span) {
  return span.value[3];
}

TEST(Markers, EverySpanHasItsTimesIdAndParent) {
  const RunResult result = run({"everything"});
  ASSERT_EQ(result.processes.size(), 1u);
  const ProcessRecords& process = result.processes[0];
  std::istringstream output(result.output);
  int error = 0;
  uint64_t outer_id = 0, across_id = 0, child_id = 0;
  output >> error >> outer_id >> across_id >> child_id;
  EXPECT_EQ(error, 77);  // errno is left alone

  const auto spans = of_type(process, MarkerType::kSpan);
  ASSERT_EQ(spans.size(), 3u);
  const MarkerSeen& outer = span_named(spans, "outer");
  const MarkerSeen& inner = span_named(spans, "inner");
  const MarkerSeen& elsewhere = span_named(spans, "elsewhere");
  EXPECT_EQ(id_of(outer), outer_id);
  EXPECT_EQ(parent_of(outer), 0u);
  EXPECT_EQ(parent_of(inner), outer_id);
  EXPECT_EQ(parent_of(elsewhere), across_id);
  EXPECT_LE(outer.value[0], inner.value[0]);
  EXPECT_LE(inner.value[0], inner.value[1]);
  EXPECT_LE(inner.value[1], outer.value[1]);
  EXPECT_EQ(inner.tid, process.pid);
  EXPECT_NE(elsewhere.tid, process.pid);
  EXPECT_EQ(inner.flags, 0);

  const auto texts = of_type(process, MarkerType::kSpanText);
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_EQ(texts[0].text, "value");
  EXPECT_EQ(texts[1].text, "another value");
  EXPECT_EQ(texts[1].value[0], id_of(inner));

  const auto begins = of_type(process, MarkerType::kAcrossBegin);
  ASSERT_EQ(names_of(begins), (Names{"across", "child"}));
  EXPECT_EQ(begins[0].value[1], across_id);
  EXPECT_EQ(begins[0].value[2], outer_id);
  EXPECT_EQ(begins[1].value[1], child_id);
  EXPECT_EQ(begins[1].value[2], across_id);
  std::set<uint64_t> ended;
  for (const MarkerSeen& end : of_type(process, MarkerType::kAcrossEnd)) ended.insert(end.value[1]);
  EXPECT_EQ(ended, (std::set<uint64_t>{across_id, child_id}));
  EXPECT_TRUE(process.open_spans.empty());
}

TEST(Markers, EventsCountersSectionsAndLabels) {
  const ProcessRecords process = run_one({"everything"});
  const auto events = of_type(process, MarkerType::kEvent);
  ASSERT_EQ(names_of(events), (Names{"event", "event", "event"}));
  EXPECT_LE(events[0].value[0], events[1].value[0]);
  EXPECT_EQ(events[1].text, "text");
  EXPECT_EQ(events[2].value[0], 12345u);

  const auto counters = of_type(process, MarkerType::kCounter);
  ASSERT_EQ(counters.size(), 3u);
  EXPECT_EQ(std::bit_cast<double>(counters[0].value[1]), 2);
  EXPECT_EQ(std::bit_cast<double>(counters[1].value[1]), 1.5);
  EXPECT_EQ(std::bit_cast<double>(counters[2].value[1]), 40);
  EXPECT_LT(counters[0].value[0], counters[1].value[0]);

  const auto starts = of_type(process, MarkerType::kSectionStart);
  const auto stops = of_type(process, MarkerType::kSectionStop);
  ASSERT_EQ(names_of(starts), (Names{"section", "section"}));
  ASSERT_EQ(names_of(stops), (Names{"section", "section"}));
  EXPECT_EQ(starts[0].flags, 0);
  EXPECT_EQ(starts[1].flags, wire::kCallingThread);
  EXPECT_EQ(stops[0].flags, 0);
  EXPECT_EQ(stops[1].flags, wire::kCallingThread);

  const auto labels = of_type(process, MarkerType::kThreadLabel);
  ASSERT_EQ(labels.size(), 2u);
  EXPECT_EQ(labels[0].text, "label");
  EXPECT_EQ(labels[0].flags, 0);
  EXPECT_EQ(static_cast<int64_t>(labels[1].value[1]), -3);
  EXPECT_EQ(labels[1].flags, wire::kHasOrder);
  EXPECT_EQ(of_type(process, MarkerType::kProcessLabel).size(), 2u);
}

TEST(Markers, EndsWithoutBeginningsAreCounted) {
  const ProcessRecords process = run_one({"unmatched"});
  EXPECT_EQ(process.loss(Loss::kMarkerUnmatched), 5u);
  EXPECT_EQ(names_of(of_type(process, MarkerType::kSpan)), Names{"fine"});
  EXPECT_EQ(of_type(process, MarkerType::kSectionStop).size(), 2u);
}

TEST(Markers, LongNamesAreCutAndStayDifferent) {
  const ProcessRecords process = run_one({"odd_names"});
  const auto events = of_type(process, MarkerType::kEvent);
  ASSERT_EQ(events.size(), 6u);
  EXPECT_NE(events[0].name, events[1].name);
  for (int i : {0, 1, 2}) {
    EXPECT_LE(events[i].name.size(), wire::kMaxMarkerText);
    EXPECT_GE(events[i].name.size(), wire::kMaxMarkerText - 1);
    EXPECT_EQ(events[i].name[events[i].name.size() - 17], '~');
  }
  EXPECT_EQ((events[2].name.size() - 17) % 2, 0u);  // whole characters
  EXPECT_EQ(events[3].name, "a\nb;c\"d,e/../f\xff\xfe<&>");
  EXPECT_EQ(events[4].name, "");
  EXPECT_EQ(events[5].text, events[1].name);
  EXPECT_EQ(of_type(process, MarkerType::kSectionStart)[0].name, events[1].name);
  EXPECT_EQ(of_type(process, MarkerType::kSectionStop)[0].name, events[1].name);
}

TEST(Markers, AMillionNamesFillTheTableAndNothingElse) {
  const ProcessRecords process = run_one({"distinct_names"});
  EXPECT_LT(process.interned_names, wire::kMaxMarkerNames);
  EXPECT_GT(process.interned_names, wire::kMaxMarkerNames / 2);
  const auto spans = of_type(process, MarkerType::kSpan);
  std::map<uint64_t, std::string> inline_names;
  for (const MarkerSeen& name : of_type(process, MarkerType::kSpanName)) {
    inline_names[name.value[0]] = name.name;
  }
  const uint64_t names = process.interned_names - 1 + inline_names.size();  // 1: the counter
  EXPECT_GE(spans.size() + process.markers_dropped, 1'000'002u);
  EXPECT_GE(names + process.markers_dropped, 1'000'001u);
  ASSERT_GE(spans.size(), 2u);
  EXPECT_EQ(spans[spans.size() - 2].name, "name 5");
  EXPECT_EQ(spans.back().name, "");
  EXPECT_EQ(inline_names[id_of(spans.back())], "name last");
  EXPECT_EQ(names_of(of_type(process, MarkerType::kCounter)), Names{"counter"});
  EXPECT_EQ(process.loss(Loss::kMarkerCounter), 0u);
}

TEST(Markers, TooDeepSpansAreCountedAndTheOthersKeepTheirPlaces) {
  const ProcessRecords process = run_one({"deep"});
  const auto spans = of_type(process, MarkerType::kSpan);
  EXPECT_EQ(spans.size(), wire::kMaxOpenSpans + 1u);
  EXPECT_EQ(process.loss(Loss::kMarkerDeep), 200u - wire::kMaxOpenSpans);
  EXPECT_EQ(process.loss(Loss::kMarkerUnmatched), 0u);
  EXPECT_EQ(of_type(process, MarkerType::kSpanText).size(), 0u);
  EXPECT_EQ(parent_of(span_named(spans, "after")), 0u);
}

TEST(Markers, AForkedChildBeginsWithNothingOpen) {
  for (const char* word : {"fork", "raw_fork"}) {
    const RunResult result = run({word});
    ASSERT_EQ(result.processes.size(), 2u) << word;
    const bool first_forked = result.processes[0].forked;
    const ProcessRecords& parent = result.processes[first_forked ? 1 : 0];
    const ProcessRecords& child = result.processes[first_forked ? 0 : 1];
    EXPECT_EQ(names_of(of_type(parent, MarkerType::kSpan)), Names{"around the fork"});
    EXPECT_EQ(parent.loss(Loss::kMarkerUnmatched), 0u);
    EXPECT_EQ(of_type(parent, MarkerType::kSectionStop).size(), 1u);
    const auto spans = of_type(child, MarkerType::kSpan);
    ASSERT_EQ(names_of(spans), Names{"in the child"});
    EXPECT_EQ(spans[0].tid, child.pid);
    EXPECT_EQ(parent_of(spans[0]), 0u);
    EXPECT_EQ(std::to_string(id_of(spans[0])) + "\n", result.output);
    EXPECT_EQ(child.loss(Loss::kMarkerUnmatched), 1u);
    EXPECT_EQ(of_type(child, MarkerType::kSectionStop).size(), 0u);
    const auto counters = of_type(child, MarkerType::kCounter);
    ASSERT_EQ(counters.size(), 1u);
    EXPECT_EQ(std::bit_cast<double>(counters[0].value[1]), 1);
  }
}

TEST(Markers, AVforkChildsMarkersAreItsParents) {
  const ProcessRecords process = run_one({"vfork"});
  const auto spans = of_type(process, MarkerType::kSpan);
  ASSERT_EQ(names_of(spans), (Names{"in the child", "around the vfork"}));
  EXPECT_EQ(parent_of(spans[0]), id_of(spans[1]));
  EXPECT_TRUE(process.open_spans.empty());
}

TEST(Markers, SpansEndWithTheirThread) {
  const ProcessRecords process = run_one({"thread_ends"});
  const auto spans = of_type(process, MarkerType::kSpan);
  ASSERT_EQ(spans.size(), 3u);
  for (const char* name : {"left open", "inside"}) {
    EXPECT_EQ(span_named(spans, name).flags, wire::kClosedByThreadEnd);
  }
  EXPECT_EQ(span_named(spans, "next").flags, 0);
  EXPECT_EQ(parent_of(span_named(spans, "next")), 0u);
  EXPECT_EQ(process.loss(Loss::kMarkerUnmatched), 1u);
  EXPECT_EQ(process.open_spans.size(), 1u);  // the main thread's: closed by the collector
}

TEST(Markers, SignalHandlersMayInterruptThem) {
  const RunResult result = run({"handlers"});
  ASSERT_EQ(result.processes.size(), 1u);
  const ProcessRecords& process = result.processes[0];
  std::istringstream output(result.output);
  size_t wanted = 0, handled = 0;
  output >> wanted >> handled;
  std::map<std::string, size_t> count;
  std::map<uint64_t, std::string> names;
  for (const MarkerSeen& span : of_type(process, MarkerType::kSpan)) {
    ++count[span.name];
    EXPECT_TRUE(names.emplace(id_of(span), span.name).second) << "an id twice";
  }
  const auto counters = of_type(process, MarkerType::kCounter);
  EXPECT_GT(count["in the handler"], 0u);
  EXPECT_EQ(names.size() + counters.size() + process.markers_dropped, 2 * (wanted + handled));
  for (const MarkerSeen& span : of_type(process, MarkerType::kSpan)) {
    if (span.name == "interrupted") {
      EXPECT_EQ(parent_of(span), 0u);
    }
    // The parent's own record may have been dropped.
    if (span.name == "inside") {
      EXPECT_TRUE(names[parent_of(span)] == "interrupted" || names[parent_of(span)].empty());
    }
    EXPECT_LE(span.value[0], span.value[1]);
  }
  EXPECT_EQ(process.marker_holes, 0u);
  EXPECT_EQ(process.loss(Loss::kMarkerUnmatched), 0u);
  double last = 0;
  for (const MarkerSeen& counter : counters) {
    EXPECT_GT(std::bit_cast<double>(counter.value[1]), last);
    last = std::bit_cast<double>(counter.value[1]);
  }
  EXPECT_LE(last, handled);
}

TEST(Markers, JumpsOutOfHandlersLeaveHolesAtMost) {
  const ProcessRecords process = run_one({"jumps"});
  EXPECT_LE(process.marker_holes, 300u);
  ASSERT_FALSE(process.markers.empty());
  EXPECT_EQ(of_type(process, MarkerType::kEvent).back().name, "still there");
}

TEST(Markers, AThreadThatSharesItsStorageIsDistinguished) {
  const RunResult result = run({"raw_clone"});
  ASSERT_EQ(result.processes.size(), 1u);
  const auto spans = of_type(result.processes[0], MarkerType::kSpan);
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(std::to_string(span_named(spans, "of the raw thread").tid) + "\n", result.output);
  EXPECT_EQ(span_named(spans, "of the main thread").tid, result.processes[0].pid);
  EXPECT_EQ(parent_of(span_named(spans, "of the raw thread")), 0u);
}

TEST(Markers, NoSystemCallUnderAFilter) {
  const ProcessRecords process = run_one({"filter"});
  EXPECT_EQ(names_of(of_type(process, MarkerType::kSpan)), (Names{"a name that is new", "before"}));
  EXPECT_EQ(of_type(process, MarkerType::kSectionStop).size(), 1u);
}

// Strict mode forbids even reading the clock.
TEST(Markers, NothingIsRecordedInStrictMode) {
  const ProcessRecords process = run_one({"strict"});
  EXPECT_TRUE(process.markers.empty());
  EXPECT_EQ(process.open_spans.size(), 1u);
  EXPECT_EQ(process.loss(Loss::kThreadSeccomp), 1u);
}

TEST(Markers, LibrariesAreConnectedWhenTheyAreLoaded) {
  const ProcessRecords process = run_one({"library", SAMPAN_MARKER_LIBRARY});
  EXPECT_EQ(names_of(of_type(process, MarkerType::kEvent)),
            (Names{"said by the library", "said by the library"}));
  EXPECT_EQ(of_type(process, MarkerType::kSectionStop).size(), 2u);
}

TEST(Markers, OtherLanguagesFindTheTable) {
  const RunResult result = run({"exported_table"});
  EXPECT_EQ(result.output, "1 1 1 0\n");
  ASSERT_EQ(result.processes.size(), 1u);
  EXPECT_EQ(names_of(of_type(result.processes[0], MarkerType::kEvent)), Names{"by the table"});
}

TEST(Markers, CanBeSwitchedOff) {
  EXPECT_EQ(run({"profiled"}).output, "1\n");
  EXPECT_EQ(run({"profiled"}, {.environment = {"SAMPAN_MARKERS=0"}}).output, "0\n");
  EXPECT_EQ(run({"exported_table"}, {.environment = {"SAMPAN_MARKERS=0"}}).output, "0 0 0 0\n");
  const RunResult bare = run({"everything"}, {.shim = false, .environment = {}});
  EXPECT_EQ(bare.output, "77 0 0 0\n");
}

TEST(Markers, NoneIsWrongAtFullSpeed) {
  const ProcessRecords process = run_one({"many_spans"});
  const auto spans = of_type(process, MarkerType::kSpan);
  EXPECT_EQ(spans.size() + process.markers_dropped, 2'000'000u);
  EXPECT_GT(spans.size(), 10'000u);
  std::map<int32_t, uint64_t> last_end;
  std::set<uint64_t> ids;
  for (const MarkerSeen& span : spans) {
    ASSERT_EQ(span.name, "fast");
    ASSERT_EQ(parent_of(span), 0u);
    ASSERT_GE(span.value[0], last_end[span.tid]);
    ASSERT_GE(span.value[1], span.value[0]);
    last_end[span.tid] = span.value[1];
    ASSERT_TRUE(ids.insert(id_of(span)).second);
  }
  EXPECT_EQ(last_end.size(), 2u);
}

}  // namespace
}  // namespace sampan::preload::test
