#include "exporters/metrics.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <numeric>

#include "base/error.h"
#include "base/safe_file_name.h"
#include "base/text/csv_row.h"
#include "base/units.h"
#include "exporters/output_file.h"
#include "profile/markers.h"

namespace sampan::exporters {
namespace {

using profile::Metric;
using profile::MetricPoint;
// A limit of files, because a program may have a million names.
constexpr size_t kMostTables = 10'000;
constexpr size_t kMostPlots = 500;

// "2026-11-20T20:01:02.345678901Z". The text of the seconds is reused for successive times.
class DateTimes {
 public:
  explicit DateTimes(const profile::Session& session) : session_(session) {}

  UnixNs unix(SessionNs time_ns) const { return session_.unix_time(time_ns); }
  const std::string& text(SessionNs time_ns) {
    const UnixNs unix_ns = unix(time_ns);
    if (second_.empty() || unix_ns / kNsPerSecond != second_of_) {
      second_of_ = unix_ns / kNsPerSecond;
      second_ =
          fmt::format("{:%Y-%m-%dT%H:%M:%S}", fmt::gmtime(static_cast<std::time_t>(second_of_)));
    }
    text_.clear();
    fmt::format_to(std::back_inserter(text_), "{}.{:09}Z", second_, unix_ns % kNsPerSecond);
    return text_;
  }

 private:
  const profile::Session& session_;
  uint64_t second_of_ = 0;
  std::string second_;
  std::string text_;
};

std::string number_text(double value) {
  return fmt::format("{}", value);
}

void write_table(const Metric& metric, DateTimes& dates, const std::string& path) {
  OutputFile file(path);
  file.write(metric.is_counter ? "timestamp,unix_time,datetime,value\n"
                               : "timestamp,unix_time,datetime\n");
  CsvRow row;
  for (const MetricPoint& point : metric.points) {
    row.seconds(point.time_ns);
    row.seconds(dates.unix(point.time_ns)).raw(dates.text(point.time_ns));
    if (metric.is_counter) row.raw(number_text(point.value));
    file.write(row.end());
  }
  file.commit();
}

void write_overview(const std::vector<Metric>& metrics, const std::vector<std::string>& files,
                    DateTimes& dates, const std::string& path) {
  OutputFile file(path);
  file.write(
      "metric_name,count,first_timestamp,last_timestamp,first_datetime,last_datetime,"
      "min_interval,max_interval,avg_interval,min,max,average,last,type,file\n");
  CsvRow row;
  for (size_t i = 0; i < metrics.size(); ++i) {
    const Metric& metric = metrics[i];
    const SessionNs first_ns = metric.points.front().time_ns;
    const SessionNs last_ns = metric.points.back().time_ns;
    row.text(metric.name).number(metric.points.size()).seconds(first_ns).seconds(last_ns);
    row.raw(dates.text(first_ns)).raw(dates.text(last_ns));
    if (const auto between = intervals(metric)) {
      row.seconds(between->min_ns).seconds(between->max_ns);
      row.raw(fmt::format("{:.9f}", between->average_ns / kNsPerSecond));
    } else {
      row.empty().empty().empty();
    }
    if (metric.is_counter) {
      const profile::Values of = values(metric);
      for (const double value : {of.min, of.max, of.average, of.last}) row.raw(number_text(value));
    } else {
      row.empty().empty().empty().empty();
    }
    row.raw(metric.is_counter ? "counter" : "event").text(files[i]);
    file.write(row.end());
  }
  file.commit();
}

// The metrics with most points, up to the limit, in their order.
std::vector<bool> most_points(const std::vector<Metric>& metrics, size_t most) {
  std::vector<size_t> order(metrics.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return metrics[a].points.size() > metrics[b].points.size();
  });
  std::vector<bool> chosen(metrics.size());
  for (size_t i = 0; i < std::min(most, order.size()); ++i) chosen[order[i]] = true;
  return chosen;
}

void make_directory(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw Error("creating {}: {}", directory.string(), error.message());
}

}  // namespace

WrittenMetrics write_metrics(const profile::View& view, const std::string& directory) {
  const std::filesystem::path to(directory);
  make_directory(to / "raw");
  make_directory(to / "plots");
  const std::vector<Metric> metrics = metrics_of(view);
  DateTimes dates(view.profile->session);
  const TimeLine time_line = time_line_of(view);
  const std::vector<bool> has_table = most_points(metrics, kMostTables);
  const std::vector<bool> has_plot = most_points(metrics, kMostPlots);
  std::vector<std::string> files(metrics.size());
  for (size_t i = 0; i < metrics.size(); ++i) {
    const std::string name = safe_file_name(metrics[i].name);
    if (has_table[i]) {
      files[i] = "raw/" + name + ".csv";
      write_table(metrics[i], dates, to / files[i]);
    }
    if (has_plot[i]) write_plot(metrics[i], time_line, to / "plots" / (name + ".svg"));
  }
  write_overview(metrics, files, dates, to / "metrics.csv");
  WrittenMetrics written{.metrics = metrics.size(), .notes = {}};
  written.notes = write_comparison(metrics, time_line, to / "metrics_comparison.svg");
  if (metrics.size() > kMostTables) {
    written.notes.push_back(fmt::format("tables of {} metrics, those with most points, of {}",
                                        kMostTables, metrics.size()));
  }
  if (metrics.size() > kMostPlots) {
    written.notes.push_back(fmt::format("plots of {} metrics, those with most points, of {}",
                                        kMostPlots, metrics.size()));
  }
  const std::vector<std::string> losses = profile::marker_losses(*view.profile);
  written.notes.insert(written.notes.end(), losses.begin(), losses.end());
  return written;
}

}  // namespace sampan::exporters
