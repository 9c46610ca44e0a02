#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "reports/spans.h"
#include "reports/style.h"
#include "reports/table.h"
#include "reports/text.h"

namespace sampan::reports {
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
        for (const std::string& line : wrap("note: " + printable(note), options_.width - 2)) {
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

  // Those with most total time; of a tree, what is below a row that is left out is left out, too.
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

  // How many were not ended by the program. Empty where all were: the column is left out.
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

}  // namespace sampan::reports
