// The tables of events and counters, and how their pictures are drawn. Python and sqlite3 read the
// tables, and Chromium the pictures, in metrics_test.py.
#include "exporters/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "support/scratch_directory.h"
#include "support/text_markers.h"
#include "support/text_profile.h"

namespace sampan::exporters {
namespace {

std::string content(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

size_t occurrences(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++n;
  return n;
}

profile::Profile profile_with(const std::string& markers) {
  profile::Profile profile = test::profile_of(
      "f 500\n# thread 101 w\nf 1\n# process 200 /bin/other\n# thread 200 other\nf 1\n");
  profile.session.start_unix_ns = 1'600'000'000'123'456'789;
  test::add_markers(&profile, markers);
  return profile;
}

TEST(Metrics, HaveATableEachAndOneOfAll) {
  const profile::Profile profile = profile_with(
      "event 100 12 flush\nevent 101 1500.000002 flush\nevent 100 20 flush\n"
      "counter 100 10 queue/depth 3.5\ncounter 101 30 queue/depth -1\ncounter 100 40 queue/depth "
      "2\n"
      "counter 100 5 once 7\n");
  const test::ScratchDirectory directory;
  const WrittenMetrics written = write_metrics(select(profile), directory.file("m"));
  EXPECT_EQ(written.metrics, 3u);
  EXPECT_TRUE(written.notes.empty());
  EXPECT_EQ(content(directory.file("m/raw/flush.csv")),
            "timestamp,unix_time,datetime\n"
            "0.012000000,1600000000.135456789,2020-09-13T12:26:40.135456789Z\n"
            "0.020000000,1600000000.143456789,2020-09-13T12:26:40.143456789Z\n"
            "1.500000002,1600000001.623456791,2020-09-13T12:26:41.623456791Z\n");
  EXPECT_EQ(content(directory.file("m/raw/queue%2Fdepth.csv")),
            "timestamp,unix_time,datetime,value\n"
            "0.010000000,1600000000.133456789,2020-09-13T12:26:40.133456789Z,3.5\n"
            "0.030000000,1600000000.153456789,2020-09-13T12:26:40.153456789Z,-1\n"
            "0.040000000,1600000000.163456789,2020-09-13T12:26:40.163456789Z,2\n");
  EXPECT_EQ(content(directory.file("m/metrics.csv")),
            "metric_name,count,first_timestamp,last_timestamp,first_datetime,last_datetime,"
            "min_interval,max_interval,avg_interval,min,max,average,last,type,file\n"
            "flush,3,0.012000000,1.500000002,2020-09-13T12:26:40.135456789Z,"
            "2020-09-13T12:26:41.623456791Z,0.008000000,1.480000002,0.744000001,,,,,event,"
            "raw/flush.csv\n"
            "once,1,0.005000000,0.005000000,2020-09-13T12:26:40.128456789Z,"
            "2020-09-13T12:26:40.128456789Z,,,,7,7,7,7,counter,raw/once.csv\n"
            "queue/depth,3,0.010000000,0.040000000,2020-09-13T12:26:40.133456789Z,"
            "2020-09-13T12:26:40.163456789Z,0.010000000,0.020000000,0.015000000,-1,3.5,1.5,2,"
            "counter,raw/queue%2Fdepth.csv\n");
  for (const char* plot : {"m/plots/flush.svg", "m/plots/once.svg", "m/plots/queue%2Fdepth.svg"}) {
    EXPECT_TRUE(std::filesystem::exists(directory.file(plot))) << plot;
  }
  EXPECT_EQ(occurrences(content(directory.file("m/metrics_comparison.svg")), "class=\"name\""), 4u);
}

TEST(Metrics, HaveNamesOfTheirOwn) {
  const profile::Profile profile = profile_with(
      "event 100 1 queue\ncounter 100 1 queue 1\ncounter 200 2 queue 2\ncounter 100 3 load 1\n"
      "event 100 3 load\nevent 200 4 load\n");
  std::string names;
  for (const profile::Metric& metric : metrics_of(select(profile))) {
    names += metric.name + (metric.is_counter ? " c" : " e") +
             std::to_string(metric.points.size()) + "\n";
  }
  EXPECT_EQ(names, "load e2\nload (2) c1\nqueue e1\nqueue (pid 100) c1\nqueue (pid 200) c1\n");
}

TEST(Metrics, AreOfTheThreadsAndTheTimeOfTheView) {
  const profile::Profile profile = profile_with(
      "event 100 1 a\nevent 101 2 a\nevent 101 30 a\ncounter 200 1 c 1\ncounter 100 1 d 1\n");
  const std::vector<profile::Metric> metrics =
      metrics_of(select(profile, {.threads = {"w"}, .to_s = 0.01}));
  ASSERT_EQ(metrics.size(), 2u);
  EXPECT_EQ(metrics[0].name, "a");
  EXPECT_EQ(metrics[0].points.size(), 1u);
  EXPECT_EQ(metrics[1].name, "d") << "a counter is of the process";
}

TEST(Metrics, WithoutAny) {
  const profile::Profile profile = profile_with("");
  const test::ScratchDirectory directory;
  EXPECT_EQ(write_metrics(select(profile), directory.file("m")).metrics, 0u);
  EXPECT_EQ(occurrences(content(directory.file("m/metrics.csv")), "\n"), 1u);
  EXPECT_NE(content(directory.file("m/metrics_comparison.svg")).find("0 metrics"),
            std::string::npos);
}

TEST(MetricPlots, DrawAsMuchAsCanBeSeen) {
  profile::Metric counter{.name = "many", .is_counter = true};
  for (uint64_t i = 0; i < 100'000; ++i)
    counter.points.push_back({SessionNs::at(i * 10'000), i == 54'321 ? 9. : 1.});
  const test::ScratchDirectory directory;
  const TimeLine line{0, 1'000'000'000};
  write_plot(counter, line, directory.file("c.svg"));
  const std::string svg = content(directory.file("c.svg"));
  EXPECT_LT(svg.size(), 60'000u);
  EXPECT_EQ(occurrences(svg, "V56.0"), 1u) << "the one peak reaches the top";
  profile::Metric event{.name = "<&\"'\xff\x01", .points = counter.points};
  write_plot(event, line, directory.file("e.svg"));
  const std::string bars = content(directory.file("e.svg"));
  EXPECT_LT(bars.size(), 20'000u);
  EXPECT_NE(bars.find("&lt;&amp;&quot;'\xef\xbf\xbd?"), bars.npos) << bars;
}

TEST(MetricPlots, DrawWhateverTheValuesAre) {
  const double kHuge = 1.7e308;
  const test::ScratchDirectory directory;
  const std::vector<std::vector<double>> all = {{NAN},       {INFINITY, 1}, {-kHuge, kHuge}, {0},
                                                {1e-320, 0}, {1e300},       {5, 5}};
  for (const std::vector<double>& values : all) {
    profile::Metric metric{.name = "x", .is_counter = true};
    for (const double value : values) {
      metric.points.push_back({SessionNs::at(metric.points.size() + 1), value});
    }
    write_plot(metric, {0, 10}, directory.file("x.svg"));
    const std::string svg = content(directory.file("x.svg"));
    const std::string drawing = svg.substr(svg.find("class=\"counter\" d="));
    EXPECT_EQ(drawing.find("nan"), drawing.npos) << svg;
    EXPECT_EQ(drawing.find("inf"), drawing.npos) << svg;
    EXPECT_LT(svg.size(), 5'000u);
  }
}

TEST(MetricPlots, HaveFewTicksOfAShortTimeLongAfterTheStart) {
  const test::ScratchDirectory directory;
  for (const SessionNs from_ns : {SessionNs(1'000'000'000'000'000), SessionNs(UINT64_MAX - 1)}) {
    write_plot({.name = "x", .points = {{from_ns, 0}}}, {from_ns, from_ns + 1},
               directory.file("x.svg"));
    EXPECT_LT(content(directory.file("x.svg")).size(), 5'000u);
  }
}

TEST(MetricPlots, LeaveOutWhatIsTooMuchToCompare) {
  std::vector<profile::Metric> metrics;
  for (int i = 0; i < 150; ++i) {
    metrics.push_back({.name = "m" + std::to_string(i), .points = {{1, 0}}});
  }
  const test::ScratchDirectory directory;
  const auto notes = write_comparison(metrics, {0, 10}, directory.file("all.svg"));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("100 metrics"), std::string::npos) << notes[0];
  EXPECT_EQ(occurrences(content(directory.file("all.svg")), "class=\"event\""), 100u);
}

}  // namespace
}  // namespace sampan::exporters
