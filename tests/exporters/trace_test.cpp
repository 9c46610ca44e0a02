// The trace's slices: where they begin and end, and what goes when it gets too large.
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "exporters/formats.h"
#include "exporters/trace_budget.h"
#include "support/scratch_directory.h"
#include "support/text_profile.h"

namespace sampan::exporters {
namespace {

using profile::Profile;

struct Trace {
  std::string text;
  rapidjson::Document events;
  std::vector<std::string> notes;

  // "name 0+4000" of each slice, times in us, in the order of the file.
  std::vector<std::string> slices() const {
    std::vector<std::string> result;
    for (const auto& event : events.GetArray()) {
      if (event["ph"] != "X") continue;
      result.push_back(event["name"].GetString() + (" " + std::to_string(event["ts"].GetUint64())) +
                       "+" + std::to_string(event["dur"].GetUint64()));
    }
    return result;
  }
};

Trace trace_of(const Profile& profile, uint64_t limit = 100'000'000) {
  const test::ScratchDirectory directory;
  Trace trace;
  trace.notes = write_trace(select(profile), directory.file("x"), limit).notes;
  std::ifstream file(directory.file("x"));
  trace.text.assign(std::istreambuf_iterator<char>(file), {});
  trace.events.Parse(trace.text.c_str());
  EXPECT_FALSE(trace.events.HasParseError()) << trace.text;
  return trace;
}

using Slices = std::vector<std::string>;

TEST(Trace, MergesSamplesThatShareFrames) {
  const Profile profile = test::profile_of("main;a;x 2\nmain;a;y 1\nmain;b=>x 1\nmain 1\n");
  EXPECT_EQ(trace_of(profile).slices(), (Slices{"main 0+20000", "a 0+12000", "x 0+8000",
                                                "y 8000+4000", "b 12000+4000", "x 12000+4000"}));
}

// In containers, the first process of each rank has the pid 1.
TEST(Trace, EqualPidsOfMergedRecordingsAreTwoProcesses) {
  const std::string rank = "# process 1 /usr/bin/app\n# thread 1 app\nmain 2\n";
  Profile profile = test::profile_of(rank + rank);
  profile.origins.resize(2);
  for (uint32_t i = 0; i < 2; ++i) {
    profile.processes[i].origin = i;
    profile.processes[i].name = "rank-" + std::to_string(i) + ": app";
  }
  const Trace trace = trace_of(profile);
  std::map<int, std::string> names;
  std::map<int, unsigned> places;
  for (const auto& event : trace.events.GetArray()) {
    if (event["name"] == "process_name")
      names[event["pid"].GetInt()] = event["args"]["name"].GetString();
    if (event["name"] == "process_sort_index")
      places[event["pid"].GetInt()] = event["args"]["sort_index"].GetUint();
  }
  ASSERT_EQ(names.size(), 2u);
  for (const auto& [pid, name] : names)
    EXPECT_EQ(name, "rank-" + std::to_string(places[pid]) + ": app");
  EXPECT_EQ(trace.slices(), (Slices{"main 0+8000", "main 0+8000"}));
}

TEST(Trace, EndsSlicesWhereTheThreadDidNotRun) {
  Profile profile = test::profile_of("main;a 4\n");
  const auto at = [&](size_t i, uint64_t ms) {
    profile.samples[i].time_ns = SessionNs::at(ms * 1'000'000);
  };
  at(0, 4);
  at(1, 13);  // waited 5 ms for its CPU: less than one and a half ticks
  at(2, 100);
  at(3, 104);
  EXPECT_EQ(trace_of(profile).slices(),
            (Slices{"main 0+13000", "a 0+13000", "main 96000+8000", "a 96000+8000"}));
}

TEST(Trace, DoesNotOverlapWhenWeightsAreMoreThanTheTimeBetween) {
  Profile profile = test::profile_of("a 1\nb 2\n");
  profile.samples[1].weight_ns = 9'000'000;
  profile.samples[2].time_ns = profile.samples[1].time_ns + 500;  // shorter than a microsecond
  EXPECT_EQ(trace_of(profile).slices(), (Slices{"a 0+4000", "b 4000+4000"}));
}

// Its CPU time was read later than its clock.
TEST(Trace, MovesSamplesBackWhereTheNextOneOverlaps) {
  Profile profile = test::profile_of("a 1\nb 1\nc 1\n");
  const auto set = [&](size_t i, uint64_t time_us, uint64_t weight_us) {
    profile.samples[i].time_ns = SessionNs::at(time_us * 1000);
    profile.samples[i].weight_ns = weight_us * 1000;
  };
  set(0, 5'000, 2'000);
  set(1, 9'000, 4'000);
  set(2, 13'000, 4'500);
  EXPECT_EQ(trace_of(profile).slices(), (Slices{"a 2500+2000", "b 4500+4000", "c 8500+4500"}));
}

// How long a thread queued is known as a sum, when it is looked at.
TEST(Trace, DrawsAQueuedThreadWhereItDidNothingElse) {
  Profile profile = test::profile_of("~runnable 1\nmain;work 2\n~runnable 1\n");
  const auto set = [&](size_t i, uint64_t time_us, uint64_t weight_us) {
    profile.samples[i].time_ns = SessionNs::at(time_us * 1000);
    profile.samples[i].weight_ns = weight_us * 1000;
  };
  set(0, 10'000, 7'000);
  set(1, 10'000, 3'000);  // of two that end together, the first has the later time
  set(2, 16'000, 2'000);
  set(3, 22'000, 10'000);  // of these, it ran for two
  EXPECT_EQ(trace_of(profile).slices(),
            (Slices{"main 0+3000", "work 0+3000", "[waiting for a CPU] 3000+11000",
                    "main 14000+2000", "work 14000+2000", "[waiting for a CPU] 16000+6000"}));
}

// A wait is seen to end when the thread has gone on for some time.
TEST(Trace, DrawsAWaitWhereTheThreadWasNotOnCpu) {
  Profile profile = test::profile_of("main;work 1\nmain;read;~read pipe:[7] 1\n");
  profile.samples[0].time_ns = SessionNs::at(60'000'000);
  profile.samples[1].time_ns = SessionNs::at(62'000'000);
  profile.samples[1].weight_ns = 50'000'000;
  EXPECT_EQ(trace_of(profile).slices(),
            (Slices{"main 8000+54000", "read 8000+48000", "[read pipe:[7]] 8000+48000",
                    "work 56000+4000", "read 60000+2000", "[read pipe:[7]] 60000+2000"}));
}

// The CPU that a program took between its predecessor's last sample and exec is seen with its own.
TEST(Trace, DrawsAThreadOnOneTrackThroughExec) {
  Profile profile = test::profile_of(
      "# process 100 /bin/sh\n# thread 100 sh\n~sleep 1\n"
      "# process 100 /bin/app\n# thread 100 app\nwork 1\n"
      "# process 100 /bin/other\n# thread 101 late\nlate 1\n");
  const auto set = [&](size_t i, uint64_t time_ms, uint64_t weight_ms) {
    profile.samples[i].time_ns = SessionNs::at(time_ms * 1'000'000);
    profile.samples[i].weight_ns = weight_ms * 1'000'000;
  };
  set(0, 10, 4);
  set(1, 14, 6);
  set(2, 17, 2);
  EXPECT_EQ(trace_of(profile).slices(),
            (Slices{"work 4000+2000", "[sleep] 6000+4000", "work 10000+4000", "late 15000+2000"}));
}

TEST(Trace, DrawsWaitsInGrey) {
  const Profile profile = test::profile_of("main;work 1\nmain;read;~read pipe:[7] 2\n");
  const Trace trace = trace_of(profile);
  EXPECT_EQ(trace.slices(),
            (Slices{"main 0+12000", "work 0+4000", "read 4000+8000", "[read pipe:[7]] 4000+8000"}));
  for (const auto& event : trace.events.GetArray()) {
    if (event["ph"] != "X") continue;
    const bool is_wait = event["name"] == "[read pipe:[7]]";
    EXPECT_EQ(event["cname"] == "grey", is_wait);
    EXPECT_EQ(event["cat"] == "waiting", is_wait);
  }
}

TEST(Trace, HasAColourForEachModule) {
  std::string text = "main 1\n";
  for (int i = 0; i < 20; ++i) text += fmt::format("main;f{}@@/lib/lib{}.so {}\n", i, i, 50 - i);
  std::map<std::string, std::string> colours;
  const Trace trace = trace_of(test::profile_of(text));
  for (const auto& event : trace.events.GetArray()) {
    if (event["ph"] != "X") continue;
    colours[event["cat"].GetString()] =
        event.HasMember("cname") ? event["cname"].GetString() : "none";
  }
  // The program has least time of its own, and so no colour.
  EXPECT_EQ(colours["app"], "none");
  EXPECT_EQ(colours["lib12.so"], "none");
  EXPECT_EQ(colours["lib0.so"], "rail_response");
  std::set<std::string> different;
  for (const auto& [module, colour] : colours) different.insert(colour);
  EXPECT_EQ(different.size(), 12u + 1);
}

TEST(Trace, CountsThreadsOnCpu) {
  const Trace trace =
      trace_of(test::profile_of("f 20\n~futex 20\n# thread 101 w\nf 10\n"
                                "# process 200 /bin/b\n# thread 200 b\nf 5\n"));
  std::vector<std::string> counts;
  for (const auto& event : trace.events.GetArray()) {
    if (event["ph"] != "C") continue;
    counts.push_back(fmt::format("{} {} {:.2f}", event["pid"].GetInt(), event["ts"].GetUint64(),
                                 event["args"]["threads"].GetDouble()));
  }
  EXPECT_EQ(counts, (std::vector<std::string>{"100 0 2.00", "100 40000 1.00", "100 80000 0.00",
                                              "200 0 1.00", "200 20000 0.00"}));
}

TEST(Trace, KeepsSlicesOfOneNameApart) {
  const Profile profile = test::profile_of("main;a;b;c 1\nmain;b 1\n");
  EXPECT_EQ(trace_of(profile).slices(),
            (Slices{"main 0+8000", "a 0+4000", "b 0+4000", "c 0+4000", "b 4001+3999"}));
}

TEST(Trace, NamesAndOrdersProcessesAndThreads) {
  const Trace trace = trace_of(test::profile_of(
      "# process 100 /bin/app\n# thread 100 main \"1\"\nf 1\n# thread 101 idle\n"
      "# thread 102 busy\nf 9\n# process 200 /bin/child\n# thread 200 main\nf 1\n"));
  std::map<std::string, std::string> found;
  for (const auto& event : trace.events.GetArray()) {
    if (event["ph"] != "M") continue;
    const auto& value = event["args"].MemberBegin()->value;
    found[event["name"].GetString() + (" " + std::to_string(event["tid"].GetInt()))] =
        value.IsString() ? value.GetString() : std::to_string(value.GetUint());
  }
  EXPECT_EQ(found, (std::map<std::string, std::string>{{"process_name 100", "app"},
                                                       {"process_name 200", "child"},
                                                       {"process_sort_index 100", "0"},
                                                       {"process_sort_index 200", "1"},
                                                       {"thread_name 100", "main \"1\""},
                                                       {"thread_name 101", "idle"},
                                                       {"thread_name 102", "busy"},
                                                       {"thread_name 200", "main"},
                                                       {"thread_sort_index 100", "0"},
                                                       {"thread_sort_index 101", "2"},
                                                       {"thread_sort_index 102", "1"},
                                                       {"thread_sort_index 200", "3"}}));
}

TEST(Trace, MergesTheShortestSlicesWhenItGetsTooLarge) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "main;long;x 1\nmain;long;y 2\nmain;other 9\n";
  const Profile profile = test::profile_of(text);
  const Trace whole = trace_of(profile);
  EXPECT_TRUE(whole.notes.empty());
  ASSERT_EQ(whole.slices().size(), 401u);

  // Room for a little more than half: the 100 of 4 ms go, then those of 8 ms.
  const Trace cut = trace_of(profile, whole.text.size() * 6 / 10);
  EXPECT_LE(cut.text.size(), whole.text.size() * 6 / 10);
  EXPECT_EQ(cut.slices().size(), 201u);
  EXPECT_EQ(cut.slices()[1], "long 0+12000");
  EXPECT_EQ(cut.slices()[2], "other 12000+36000");
  ASSERT_EQ(cut.notes.size(), 1u);
  EXPECT_TRUE(cut.notes[0].starts_with("200 of 401 slices, the shortest (up to 8.0 ms)"))
      << cut.notes[0];
}

TEST(Trace, NeverExceedsItsLimit) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "main;a;b;c;d 1\nmain;a;b;e 1\nmain;f;c 1\n";
  const Profile profile = test::profile_of(text);
  for (uint64_t limit = 500; limit < 20'000; limit += 777) {
    const Trace trace = trace_of(profile, limit);
    EXPECT_LE(trace.text.size(), limit);
    EXPECT_EQ(trace.slices().size() < 351, !trace.notes.empty()) << limit;
  }
}

TEST(Rank, MergesWhatIsInsideFirst) {
  EXPECT_TRUE(Rank::of(4000, 3).before(Rank::of(8000, 9)));
  EXPECT_TRUE(Rank::of(4000, 3).before(Rank::of(4000, 2)));
  for (uint64_t inner = 1; inner < 5000; ++inner) {
    EXPECT_TRUE(Rank::of(inner, 2).before(Rank::of(inner + 1, 1))) << inner;
  }
}

}  // namespace
}  // namespace sampan::exporters
