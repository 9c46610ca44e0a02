#include "reports/spans.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "base/text/csv_row.h"
#include "base/text/json_writer.h"
#include "base/text/readable.h"
#include "base/time.h"
#include "profile/markers.h"
#include "reports/table.h"

namespace sampan::reports {

std::vector<std::string> SpanReport::notes() const {
  std::vector<std::string> notes;
  uint64_t closed[vocabulary::kClosedCount] = {};
  for (const profile::SpanRow& row : table.rows) {
    for (size_t i = 0; i < row.closed.size(); ++i) closed[i] += row.closed[i];
  }
  const auto say_closed = [&](profile::Closed how, const char* what) {
    const uint64_t n = closed[static_cast<size_t>(how)];
    if (n != 0)
      notes.push_back(fmt::format("{} open when {} ended: counted up to there",
                                  plural(n, "span") + (n == 1 ? " was" : " were"), what));
  };
  say_closed(profile::Closed::kByThreadEnd, "the thread");
  say_closed(profile::Closed::kByProcessEnd, "the process");
  const std::vector<std::string> losses = profile::marker_losses(*view.profile);
  notes.insert(notes.end(), losses.begin(), losses.end());
  if (has_times() && !view.profile->has_waits()) {
    notes.push_back("only CPU was sampled: --clock wall tells what spans wait for, too");
  }
  return notes;
}

namespace {

using profile::SpanRow;
using profile::SpanSum;
using profile::SpanTime;

constexpr size_t kDeepestIndent = 20;

std::string duration_text(uint64_t ns) {
  return duration(static_cast<double>(ns));
}

std::string sum_text(uint64_t ns) {
  return ns == 0 ? "-" : duration_text(ns);
}

class SpansPage {
 public:
  SpansPage(const SpanReport& report, const PageOptions& options)
      : report_(report), options_(options), rows_(report.table.rows), style_(options.colour) {}

  std::string text() {
    choose_rows();
    std::string text = style_.heading(title()) + "\n";
    if (rows_.empty()) {
      text += "  none: the program marks no spans (sampan/markers.h), or none in this part\n";
    } else {
      text += report_.has_times() ? times_table() : durations_table();
    }
    if (shown_.size() < rows_.size()) {
      text += "  " + style_.faint("and " + plural(rows_.size() - shown_.size(), "more row")) + "\n";
    }
    for (const auto* notes : {&notes_, &options_.notes}) {
      for (const std::string& note : *notes) {
        for (const std::string& line :
             wrap("note: " + printable(note), options_.text_width() - 2)) {
          text += "  " + style_.warning(line) + "\n";
        }
      }
    }
    return text;
  }

 private:
  std::string title() const {
    const uint64_t spans =
        std::accumulate(rows_.begin(), rows_.end(), uint64_t{0},
                        [](uint64_t sum, const SpanRow& row) { return sum + row.count; });
    return fmt::format("{}, {}", plural(spans, "span"),
                       report_.tree ? "below those around them" : "most total time first");
  }

  // The rows with most total time; in a tree, rows below one that is left out are left out, too.
  void choose_rows() {
    std::vector<uint32_t> order(rows_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return rows_[a].total_ns > rows_[b].total_ns; });
    if (options_.top != 0 && options_.top < order.size()) order.resize(options_.top);
    std::vector<bool> is_chosen(rows_.size());
    for (const uint32_t row : order) is_chosen[row] = true;
    for (uint32_t i = 0; i < rows_.size(); ++i) {
      const uint32_t parent = rows_[i].parent;
      if (parent != profile::kNone && !is_chosen[parent]) is_chosen[i] = false;
      if (is_chosen[i]) shown_.push_back(i);
    }
  }

  std::string name(const SpanRow& row) const {
    const std::string& text = report_.view.profile->markers.texts[row.name];
    return std::string(2 * std::min<size_t>(row.depth, kDeepestIndent), ' ') +
           (text.empty() ? "[no name]" : printable(text));
  }

  // How many spans the program did not end. Empty if none, which leaves the column out.
  static std::string open_text(const SpanRow& row) {
    return row.not_ended() == 0 ? "" : count(row.not_ended());
  }

  std::string durations_table() const {
    Table table({{.title = "total"},
                 {.title = "max"},
                 {.title = "avg"},
                 {.title = "min"},
                 {.title = "p50"},
                 {.title = "p95"},
                 {.title = "p99"},
                 {.title = "spans"},
                 {.title = "open"},
                 {.title = "name", .left = true, .minimum = 10}});
    for (const uint32_t i : shown_) {
      const SpanRow& row = rows_[i];
      table.add({duration_text(row.total_ns), duration_text(row.max_ns), duration(row.average_ns()),
                 duration_text(row.min_ns), duration_text(row.p50_ns), duration_text(row.p95_ns),
                 duration_text(row.p99_ns), count(row.count), open_text(row), name(row)});
    }
    return table.text(options_.width, style_);
  }

  std::string times_table() const {
    const bool waits = report_.view.profile->has_waits();
    std::vector<Column> columns = {
        {.title = "wall"}, {.title = "on CPU"}, {.title = "±"}, {.title = "self"}};
    if (waits) {
      for (const char* title : {"waiting", "±", "self", "for CPU"}) {
        columns.push_back({.title = title});
      }
    }
    columns.push_back({.title = "spans"});
    columns.push_back({.title = "open"});
    columns.push_back({.title = "name", .left = true, .minimum = 10});
    Table table(std::move(columns));
    for (const uint32_t i : shown_) {
      const SpanRow& row = rows_[i];
      const SpanTime& time = report_.times[i];
      std::vector<std::string> cells = {duration_text(row.total_ns)};
      add(time.cpu, &cells);
      if (waits) {
        add(time.waiting, &cells);
        cells.push_back(sum_text(time.runnable.total_ns));
      }
      cells.insert(cells.end(), {count(row.count), open_text(row), name(row)});
      table.add(std::move(cells));
    }
    return table.text(options_.width, style_);
  }

  static void add(const SpanSum& sum, std::vector<std::string>* cells) {
    cells->push_back(sum_text(sum.total_ns));
    cells->push_back(sum.total_ns > 0 || sum.variance > 0 ? duration(sum.error_ns()) : "");
    cells->push_back(sum_text(sum.self_ns));
  }

  const SpanReport& report_;
  const PageOptions& options_;
  const std::vector<SpanRow>& rows_;
  const std::vector<std::string> notes_ = report_.notes();
  const Style style_;
  std::vector<uint32_t> shown_;
};

}  // namespace

std::string spans_page(const SpanReport& report, const PageOptions& options) {
  return SpansPage(report, options).text();
}

namespace {

std::string seconds_of(double ns) {
  return fmt::format("{:.9f}", in_seconds(ns));
}

void add(const SpanSum& sum, CsvRow* row) {
  row->seconds(sum.total_ns).seconds(sum.self_ns);
  row->raw(seconds_of(sum.error_ns()));
}

}  // namespace

std::string spans_csv(const SpanReport& report) {
  std::string text = report.tree ? "row,parent,depth," : "";
  text += "span,count,total_s,max_s,average_s,min_s,p50_s,p95_s,p99_s,not_ended";
  if (report.has_times()) {
    text +=
        ",cpu_s,cpu_self_s,cpu_error_s,waiting_s,waiting_self_s,waiting_error_s,"
        "runnable_s,runnable_self_s,runnable_error_s,samples";
  }
  text += '\n';
  CsvRow csv;
  for (uint32_t i = 0; i < report.table.rows.size(); ++i) {
    const profile::SpanRow& row = report.table.rows[i];
    if (report.tree) {
      csv.number(i);
      row.parent == profile::kNone ? csv.empty() : csv.number(row.parent);
      csv.number(row.depth);
    }
    csv.text(report.view.profile->markers.texts[row.name]).number(row.count);
    csv.seconds(row.total_ns).seconds(row.max_ns);
    csv.raw(seconds_of(row.average_ns())).seconds(row.min_ns);
    csv.seconds(row.p50_ns).seconds(row.p95_ns).seconds(row.p99_ns).number(row.not_ended());
    if (report.has_times()) {
      const profile::SpanTime& time = report.times[i];
      for (const SpanSum* sum : {&time.cpu, &time.waiting, &time.runnable}) add(*sum, &csv);
      csv.number(time.samples);
    }
    text += csv.end();
  }
  return text;
}

namespace {

void write_sum(Json& json, const char* key, const SpanSum& sum) {
  json.key(key);
  json.object([&] {
    json.member("total_s", in_seconds(sum.total_ns));
    json.member("self_s", in_seconds(sum.self_ns));
    json.member("error_s", in_seconds(sum.error_ns()));
  });
}

void write_row(Json& json, const SpanReport& report, uint32_t index) {
  const SpanRow& row = report.table.rows[index];
  json.member("name", report.view.profile->markers.texts[row.name]);
  if (report.tree) {
    json.key("parent");
    row.parent == profile::kNone ? json.null() : json.value(row.parent);
    json.member("depth", row.depth);
  }
  json.member("count", row.count);
  json.member("total_s", in_seconds(row.total_ns));
  json.member("max_s", in_seconds(row.max_ns));
  json.member("average_s", in_seconds(row.average_ns()));
  json.member("min_s", in_seconds(row.min_ns));
  json.member("p50_s", in_seconds(row.p50_ns));
  json.member("p95_s", in_seconds(row.p95_ns));
  json.member("p99_s", in_seconds(row.p99_ns));
  json.member("closed_by_thread_end", row.closed[1]);
  json.member("closed_by_process_end", row.closed[2]);
  json.member("across_threads", row.across);
  if (!report.has_times()) return;
  write_sum(json, "cpu", report.times[index].cpu);
  write_sum(json, "waiting", report.times[index].waiting);
  write_sum(json, "runnable", report.times[index].runnable);
  json.member("samples", report.times[index].samples);
}

}  // namespace

std::string spans_json(const SpanReport& report, const std::vector<std::string>& notes) {
  Json json;
  json.object([&] {
    json.member("tree", report.tree);
    std::vector<std::string> all = report.notes();
    all.insert(all.end(), notes.begin(), notes.end());
    json.member("notes", all);
    json.key("spans");
    json.array_of([&] {
      for (uint32_t i = 0; i < report.table.rows.size(); ++i) {
        json.object([&] { write_row(json, report, i); });
      }
    });
  });
  return json.text();
}

}  // namespace sampan::reports
