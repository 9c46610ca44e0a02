#include "remote/top/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "base/text/readable.h"
#include "remote/top/text.h"

namespace sampan::top {
namespace {

// A column appears if the screen has at least `from` cells. A column of width 0 takes the rest.
template <typename Row>
struct Column {
  std::string title;
  size_t width;
  size_t from_width;
  bool left;
  bool sorted;
  std::function<std::string(const Row&, size_t width)> cell;
};

std::string tenths(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f}", 100 * part / whole) : "-";
}
std::string share(uint64_t part_ns, uint64_t whole_ns) {
  return tenths(static_cast<double>(part_ns), static_cast<double>(whole_ns));
}

std::vector<Column<ThreadRow>> thread_columns(const Content& content, const Choices& choices,
                                              const Status& status) {
  using Sort = ThreadSort;
  const uint64_t span_ns = content.span_ns;
  const bool waits = status.waits_known;
  const auto sorted = [&](Sort by) { return choices.thread_sort == by; };
  // A wait may have begun before the time window.
  const auto wait_share = [=](uint64_t ns, const ThreadRow& row) {
    const uint64_t all_ns = span_ns * row.threads;
    return waits ? share(std::min(ns, all_ns - std::min(all_ns, row.cpu_ns)), span_ns)
                 : std::string("-");
  };
  return {
      {"TID", 7, 0, false, sorted(Sort::kTid),
       [](const ThreadRow& row, size_t) { return std::to_string(row.tid); }},
      {"THREAD", 15, 0, true, sorted(Sort::kName),
       [](const ThreadRow& row, size_t width) {
         if (row.threads == 1) return harmless(row.name);
         const std::string times = fmt::format(" x{}", row.threads);
         const std::string name = harmless(row.name);
         const size_t room = width - std::min(width, times.size());
         return (cells(name) > room ? fit(name, room) : name) + times;
       }},
      {"PROCESS", 12, 100, true, false,
       [](const ThreadRow& row, size_t) { return harmless(row.process); }},
      {"CPU%", 6, 0, false, sorted(Sort::kCpu),
       [=](const ThreadRow& row, size_t) { return share(row.cpu_ns, span_ns); }},
      {"WAIT%", 6, 38, false, sorted(Sort::kWait),
       [=](const ThreadRow& row, size_t) { return wait_share(row.waiting_ns, row); }},
      {"QUEUE%", 6, 72, false, false,
       [=](const ThreadRow& row, size_t) { return wait_share(row.queued_ns, row); }},
      {"S", 1, 40, true, false,
       [](const ThreadRow& row, size_t) { return std::string(1, static_cast<char>(row.state)); }},
      {"SAMPLES", 8, 64, false, sorted(Sort::kSamples),
       [](const ThreadRow& row, size_t) { return count(row.samples); }},
      {"DOING", 0, 50, true, false,
       [](const ThreadRow& row, size_t width) { return fit_name(row.doing, width); }}};
}

std::vector<Column<FunctionRow>> function_columns(const Content& content, const Choices& choices) {
  using Sort = FunctionSort;
  const uint64_t whole_ns = content.total.ns;
  const auto sorted = [&](Sort by) { return choices.function_sort == by; };
  return {{"SELF%", 6, 0, false, sorted(Sort::kSelf),
           [=](const FunctionRow& row, size_t) { return share(row.self.ns, whole_ns); }},
          {"TOTAL%", 6, 0, false, sorted(Sort::kTotal),
           [=](const FunctionRow& row, size_t) { return share(row.total.ns, whole_ns); }},
          {"SELF s", 8, 44, false, false,
           [](const FunctionRow& row, size_t) { return seconds(row.self.ns); }},
          {"TOTAL s", 8, 56, false, false,
           [](const FunctionRow& row, size_t) { return seconds(row.total.ns); }},
          {"FUNCTION", 0, 0, true, sorted(Sort::kName),
           [](const FunctionRow& row, size_t width) { return fit_name(row.name, width); }},
          {"MODULE", 14, 64, true, false,
           [](const FunctionRow& row, size_t) { return harmless(row.module); }}};
}

std::string tree_name(const TreeRow& row, size_t width) {
  const size_t indent = std::min<size_t>(row.depth, width / 2);
  const char* const mark = row.part == TreeRow::Part::kFunction ? "> "
                           : !row.has_children                  ? "  "
                           : row.is_open                        ? "- "
                                                                : "+ ";
  const size_t room = width - std::min(width, indent + 2);
  return std::string(indent, ' ') + mark + fit_name(row.name, room);
}

std::vector<Column<TreeRow>> tree_columns(const Content& content, const Choices& choices) {
  const uint64_t whole_ns = content.total.ns;
  const bool inverted = choices.look == Look::kTree && choices.inverted;
  return {{"TOTAL%", 6, 0, false, true,
           [=](const TreeRow& row, size_t) { return share(row.total.ns, whole_ns); }},
          {"SELF%", 6, 36, false, false,
           [=](const TreeRow& row, size_t) {
             const bool is_caller = row.part == TreeRow::Part::kCaller;
             return inverted || is_caller ? std::string() : share(row.self.ns, whole_ns);
           }},
          {"TOTAL s", 8, 56, false, false,
           [](const TreeRow& row, size_t) { return seconds(row.total.ns); }},
          {inverted ? "FUNCTION, ITS CALLERS BELOW" : "FUNCTION", 0, 0, true, false, tree_name}};
}

// The columns that fit, with their widths.
template <typename Row>
std::vector<Column<Row>> fitting(std::vector<Column<Row>> columns, size_t width) {
  std::erase_if(columns, [&](const Column<Row>& column) { return column.from_width > width; });
  size_t taken = columns.size() - 1;
  for (const Column<Row>& column : columns) taken += column.width;
  for (Column<Row>& column : columns) {
    if (column.width == 0) column.width = width - std::min(width, taken);
  }
  return columns;
}

template <typename Row, typename Cell>
std::string line_of(const std::vector<Column<Row>>& columns, size_t width, Cell&& cell) {
  std::string text;
  for (const Column<Row>& column : columns) {
    if (!text.empty()) text += ' ';
    const std::string content = cell(column);
    text += column.left ? fit(content, column.width) : fit_right(content, column.width);
  }
  return fit(text, width);
}

template <typename Row>
std::string titles_of(std::vector<Column<Row>> columns, bool reversed, size_t width) {
  return line_of(fitting(std::move(columns), width), width, [&](const Column<Row>& column) {
    if (!column.sorted || column.title.size() >= column.width) return column.title;
    return column.left ? column.title + (reversed ? "^" : "v")
                       : (reversed ? "^" : "v") + column.title;
  });
}

template <typename Row>
std::string row_of(std::vector<Column<Row>> columns, const Row& row, size_t width) {
  return line_of(fitting(std::move(columns), width), width,
                 [&](const Column<Row>& column) { return column.cell(row, column.width); });
}

}  // namespace

std::string titles(const Content& content, const Choices& choices, const Status& status,
                   size_t width) {
  switch (choices.look) {
    case Look::kThreads:
      return titles_of(thread_columns(content, choices, status), choices.reversed, width);
    case Look::kFunctions:
      return titles_of(function_columns(content, choices), choices.reversed, width);
    case Look::kTree:
    case Look::kSandwich: break;
  }
  return titles_of(tree_columns(content, choices), false, width);
}

std::string row_text(const Content& content, const Choices& choices, const Status& status,
                     size_t row, size_t width) {
  if (row < content.threads.size()) {
    return row_of(thread_columns(content, choices, status), content.threads[row], width);
  }
  if (row < content.functions.size()) {
    return row_of(function_columns(content, choices), content.functions[row], width);
  }
  return row_of(tree_columns(content, choices), content.tree[row], width);
}

}  // namespace sampan::top
