// What the program said, as events of a trace.
#include "exporters/trace_markers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "exporters/formats.h"
#include "support/scratch_directory.h"
#include "support/text_markers.h"
#include "support/text_profile.h"

namespace sampan::exporters {
namespace {

using profile::Profile;
using Lines = std::vector<std::string>;

constexpr const char* kThreads = "main 20\n# thread 101 worker\nstart;work 20\n";

Profile marked(const std::string& markers) {
  Profile profile = test::profile_of(kThreads);
  test::add_markers(&profile, markers);
  return profile;
}

struct MarkedTrace {
  rapidjson::Document events;
  std::vector<std::string> notes;
  size_t size = 0;
};

MarkedTrace trace_of(const profile::View& view, uint64_t limit = 100'000'000) {
  const test::ScratchDirectory directory;
  MarkedTrace trace;
  trace.notes = write_trace(view, directory.file("x"), limit).notes;
  std::ifstream file(directory.file("x"));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  trace.size = text.size();
  trace.events.Parse(text.c_str());
  EXPECT_FALSE(trace.events.HasParseError()) << text;
  return trace;
}

bool is_called(const rapidjson::Value& event, const std::string& name) {
  return event.HasMember("name") && event["name"] == name.c_str();
}

// "B 5:parse 10" for each event of these phases, times in us; 5 is the tid, "+" that of markers.
Lines events_of(const MarkedTrace& trace, const std::string& phases) {
  Lines lines;
  for (const auto& event : trace.events.GetArray()) {
    const std::string phase = event["ph"].GetString();
    if (phases.find(phase) == phases.npos) continue;
    const int64_t tid = event.HasMember("tid") ? event["tid"].GetInt64() : 0;
    lines.push_back(fmt::format(
        "{} {}{}:{} {}", phase, tid % kMarkerTrack, tid >= kMarkerTrack ? "+" : "",
        event.HasMember("name") ? event["name"].GetString() : "", event["ts"].GetDouble()));
  }
  return lines;
}

const rapidjson::Value& arguments_of(const MarkedTrace& trace, const std::string& name) {
  static const rapidjson::Value kNothing;
  for (const auto& event : trace.events.GetArray()) {
    if (is_called(event, name) && event.HasMember("args")) return event["args"];
  }
  ADD_FAILURE() << "no event " << name;
  return kNothing;
}

TEST(TraceMarkers, SpansNestOnATrackAboveTheirThread) {
  const Profile profile = marked(
      "span 101 10 30 handle id=7\n"
      "span 101 12.0005 20 parse id=8 parent=7 text=a\\s\"b\"\n"
      "span 101 20 30 reply id=9 parent=7 closed=1\n");
  const MarkedTrace trace = trace_of(select(profile));
  EXPECT_EQ(events_of(trace, "BE"),
            (Lines{"B 101+:handle 10000", "B 101+:parse 12000.5", "E 101+:parse 20000",
                   "B 101+:reply 20000", "E 101+:reply 30000", "E 101+:handle 30000"}));
  EXPECT_STREQ(arguments_of(trace, "parse")["id"].GetString(), "0000000000000008");
  EXPECT_STREQ(arguments_of(trace, "parse")["parent"].GetString(), "0000000000000007");
  EXPECT_STREQ(arguments_of(trace, "parse")["text"].GetString(), "a \"b\"");
  EXPECT_FALSE(arguments_of(trace, "handle").HasMember("closed"));
  EXPECT_STREQ(arguments_of(trace, "reply")["closed"].GetString(), "by the end of its thread");
  Lines names;
  int64_t place = 0, place_of_markers = 0;
  for (const auto& event : trace.events.GetArray()) {
    if (is_called(event, "thread_name")) names.push_back(event["args"]["name"].GetString());
    if (!is_called(event, "thread_sort_index")) continue;
    if (event["tid"].GetInt64() == 101) place = event["args"]["sort_index"].GetInt64();
    if (event["tid"].GetInt64() == 101 + kMarkerTrack) {
      place_of_markers = event["args"]["sort_index"].GetInt64();
    }
  }
  EXPECT_EQ(names, (Lines{"app", "worker", "worker: markers"}));
  EXPECT_EQ(place_of_markers + 1, place);
}

TEST(TraceMarkers, WhatDoesNotNestIsAsynchronous) {
  const MarkedTrace trace =
      trace_of(select(marked("span 100 5 15 request id=255 to=101\n"
                             "span 100 1 8 a\nspan 100 4 9 overlaps id=6\n"
                             "section all 2 40 phase\nsection 101 3 4 infer_1\n")));
  EXPECT_EQ(events_of(trace, "be"),
            (Lines{"b 100:overlaps 4000", "e 100:overlaps 9000", "b 100:request 5000",
                   "e 101:request 15000", "b 100:phase 2000", "e 100:phase 40000",
                   "b 101:infer_1 3000", "e 101:infer_1 4000"}));
  EXPECT_EQ(events_of(trace, "B"), (Lines{"B 100+:a 1000"}));
  for (const auto& event : trace.events.GetArray()) {
    if (!is_called(event, "request")) continue;
    EXPECT_STREQ(event["id2"]["local"].GetString(), "0xff");
  }
}

TEST(TraceMarkers, EachKindHasAColourOfItsOwn) {
  const MarkedTrace trace =
      trace_of(select(marked("span 100 5 15 request id=255 to=101\nspan 100 1 8 step\n"
                             "section all 2 40 phase\n")));
  std::map<std::string, std::string> colours;
  for (const auto& event : trace.events.GetArray()) {
    if (event.HasMember("cname")) colours[event["name"].GetString()] = event["cname"].GetString();
  }
  EXPECT_FALSE(colours["step"].empty());
  EXPECT_EQ(colours["step"], colours["request"]);
  EXPECT_FALSE(colours["phase"].empty());
  EXPECT_NE(colours["phase"], colours["step"]);
}

TEST(TraceMarkers, EventsAreInstantsAndCountersHaveTracks) {
  const MarkedTrace trace = trace_of(select(marked(
      "span 101 10 20 a\nevent 101 5 start\nevent 101 12 flush text=full\nevent 101 25 done\n"
      "counter 101 3 queue 1.5\ncounter 100 7 queue 0\ncounter 100 8 queue nan\n")));
  EXPECT_EQ(events_of(trace, "BEi"),
            (Lines{"i 101+:start 5000", "B 101+:a 10000", "i 101+:flush 12000", "E 101+:a 20000",
                   "i 101+:done 25000"}));
  EXPECT_STREQ(arguments_of(trace, "flush")["text"].GetString(), "full");
  Lines counts;
  for (const auto& event : trace.events.GetArray()) {
    if (!is_called(event, "queue")) continue;
    counts.push_back(fmt::format("{} {} {}", event["pid"].GetInt(), event["ts"].GetDouble(),
                                 event["args"]["value"].GetDouble()));
  }
  EXPECT_EQ(counts, (Lines{"100 3000 1.5", "100 7000 0"}));
  EXPECT_EQ(trace.notes, (Lines{"1 values of counters are infinite or no numbers, and left out"}));
}

TEST(TraceMarkers, AreCutToTheTimeThatIsSelected) {
  const Profile profile = marked(
      "span 101 10 30 handle\nspan 101 15 18 parse\nspan 101 25 28 late\n"
      "section 101 14 20 infer_1\nsection 101 21 22 infer_2\n");
  const MarkedTrace trace = trace_of(select(profile, {.section = "infer_1"}));
  EXPECT_EQ(events_of(trace, "BEbe"),
            (Lines{"B 101+:handle 14000", "B 101+:parse 15000", "E 101+:parse 18000",
                   "E 101+:handle 20000", "b 101:infer_1 14000", "e 101:infer_1 20000"}));
  EXPECT_EQ(arguments_of(trace, "handle")["duration_ms"].GetDouble(), 20);
  EXPECT_FALSE(arguments_of(trace, "parse").HasMember("duration_ms"));
}

TEST(TraceMarkers, SayWhereSamplingWasPaused) {
  Profile profile = marked("event 101 5 start\n");
  profile.markers.pauses = {{10'000'000, 20'000'000, 0}};
  EXPECT_EQ(events_of(trace_of(select(profile)), "be"),
            (Lines{"b 100:sampling paused 10000", "e 100:sampling paused 20000"}));
  EXPECT_EQ(events_of(trace_of(select(profile, {.from_s = 0.021})), "be"), Lines());
}

TEST(TraceMarkers, LeaveRoomForSamples) {
  std::string markers;
  for (int i = 0; i < 2000; ++i) {
    const double begin = i * 0.03;
    markers += fmt::format("span 101 {} {} handle\nevent 101 {} tick\ncounter 101 {} c {}\n", begin,
                           begin + 0.00001 * (i + 1), begin, begin, i);
  }
  const MarkedTrace trace = trace_of(select(marked(markers)), 100'000);
  EXPECT_LE(trace.size, 100'000u);
  EXPECT_EQ(trace.notes.size(), 3u);
  EXPECT_NE(trace.notes[0].find("of 2000 spans, the shortest (up to 0.01"), std::string::npos)
      << trace.notes[0];
  const Lines spans = events_of(trace, "B");
  ASSERT_GT(spans.size(), 50u);
  EXPECT_EQ(spans.back(), fmt::format("B 101+:handle {}", 1999 * 30.0));
  EXPECT_EQ(events_of(trace, "X").size(), 3u);
}

}  // namespace
}  // namespace sampan::exporters
