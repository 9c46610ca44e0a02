// The flat table of functions, or of whatever options.by says.
#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <tuple>

#include "base/text/readable.h"
#include "profile/flat.h"
#include "profile/frames.h"
#include "profile/python_modules.h"
#include "reports/sections.h"
#include "reports/table.h"

namespace sampan::reports {
namespace {

using profile::FlatRow;
using profile::Profile;

std::string place(const Profile& profile, const FlatRow& row) {
  const std::string file = printable(profile.strings[row.file]);
  return file.empty() || row.line == 0 ? file : fmt::format("{}:{}", file, row.line);
}

std::string module_cell(const Profile& profile, const FlatRow& row) {
  return printable(module_name(profile, row.module));
}

// The identifying columns of a kind of table, and the cells of a row.
struct Kind {
  std::string_view noun;
  std::vector<Column> columns;
  std::function<std::vector<std::string>(const FlatRow&)> cells;
};

Kind kind_of(const Profile& profile, const PageOptions& options) {
  const By by = options.by;
  const Column function = function_column(options);
  const Column file = {.title = "file:line", .left = true, .minimum = 11, .cut = cut_path};
  const Column module = {.title = "module", .left = true, .minimum = 8};
  switch (by) {
    case By::kFunction:
    case By::kLine:
      return {by == By::kLine ? "line" : "function",
              {function, file, module},
              [&profile, &options](const FlatRow& row) -> std::vector<std::string> {
                return {function_cell(profile, row.function, options), place(profile, row),
                        module_cell(profile, row)};
              }};
    case By::kFile:
      return {"file",
              {{.title = "file", .left = true, .minimum = 11, .cut = cut_path}},
              [&profile](const FlatRow& row) -> std::vector<std::string> {
                if (row.file != 0) return {place(profile, row)};
                if (row.module == profile::kNone) return {"[no file]"};
                return {fmt::format("[{}]", module_cell(profile, row))};
              }};
    case By::kModule:
      return {"module",
              {{.title = "module", .left = true, .minimum = 11, .cut = cut_path}},
              [&profile](const FlatRow& row) -> std::vector<std::string> {
                if (row.file != 0)
                  return {printable(profile::python_module(profile.strings[row.file]))};
                if (row.module == profile::kNone) return {"[no module]"};
                return {printable(profile.modules[row.module].path)};
              }};
    case By::kThread:
      return {"thread",
              {{.title = "tid"},
               {.title = "thread", .left = true},
               {.title = "process", .left = true, .minimum = 8}},
              [&profile](const FlatRow& row) -> std::vector<std::string> {
                const profile::Thread& thread = profile.threads[row.thread];
                const profile::Process& process = profile.processes[row.process];
                return {std::to_string(thread.tid), printable(thread.name),
                        fmt::format("{} {}", process.pid, printable(process.name))};
              }};
    case By::kProcess:
      return {
          "process",
          {{.title = "pid"},
           {.title = "process", .left = true},
           {.title = "path", .left = true, .minimum = 11, .cut = cut_path}},
          [&profile](const FlatRow& row) -> std::vector<std::string> {
            const profile::Process& process = profile.processes[row.process];
            return {std::to_string(process.pid), printable(process.name), printable(process.path)};
          }};
  }
  return {};
}

// Sorting by name uses the first identifying cell.
std::string_view name_of(const Profile& profile, const FlatRow& row) {
  if (row.function != profile::kNone) return function_name(profile, row.function);
  if (row.thread != profile::kNone) return profile.threads[row.thread].name;
  if (row.process != profile::kNone) return profile.processes[row.process].name;
  if (row.file != 0) return profile.strings[row.file];
  return module_name(profile, row.module);
}

void sort_rows(const Profile& profile, Sort sort, std::vector<FlatRow>& rows) {
  const auto by = [&](auto&& key) {
    std::stable_sort(rows.begin(), rows.end(),
                     [&](const FlatRow& a, const FlatRow& b) { return key(a) < key(b); });
  };
  switch (sort) {
    case Sort::kSelf: break;  // the order of flat_table()
    case Sort::kTotal: by([](const FlatRow& row) { return ~row.total.ns; }); break;
    case Sort::kSamples: by([](const FlatRow& row) { return ~row.self.samples; }); break;
    case Sort::kName: by([&](const FlatRow& row) { return name_of(profile, row); }); break;
    case Sort::kFile:
      by([&](const FlatRow& row) {
        return std::tuple(row.file == 0, std::string_view(profile.strings[row.file]), row.line);
      });
      break;
  }
}

std::string unit_text(const Context& context) {
  if (!context.profile().has_waits()) return std::string(context.unit().plural());
  switch (context.view.state) {
    case profile::State::kCpu: return "seconds of CPU";
    case profile::State::kWaiting: return "seconds of waiting";
    case profile::State::kAll: break;
  }
  return "seconds, CPU and waiting";
}

std::string order_text(Sort sort, const profile::Unit& unit) {
  const std::string what(unit.what());
  switch (sort) {
    case Sort::kSelf: return "most self " + what + " first";
    case Sort::kTotal: return "most total " + what + " first";
    case Sort::kSamples: return "most samples first";
    case Sort::kName: return "by name";
    case Sort::kFile: return "by file";
  }
  return "";
}

}  // namespace

std::string flat_section(const Context& context) {
  if (context.summary.total().samples == 0) return "";
  const Profile& profile = context.profile();
  const PageOptions& options = context.options;
  std::vector<FlatRow> rows = flat_table(context.view, options.by);
  sort_rows(profile, options.sort, rows);

  const Kind kind = kind_of(profile, options);
  std::vector<Column> columns = {
      {.title = "samples"}, {.title = "self"}, {.title = "%"}, {.title = "total"}, {.title = "%"}};
  columns.insert(columns.end(), kind.columns.begin(), kind.columns.end());
  Table table(std::move(columns));
  const auto all_ns = static_cast<double>(context.summary.total().ns);
  const profile::Unit unit = context.unit();
  const size_t shown = options.top == 0 ? rows.size() : std::min<size_t>(options.top, rows.size());
  uint64_t folded_ns = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const FlatRow& row = rows[i];
    if (i >= shown) {
      folded_ns += row.self.ns;
      continue;
    }
    const auto self_ns = static_cast<double>(row.self.ns);
    std::vector<std::string> cells = {count(row.self.samples), unit.text(row.self.ns),
                                      percent(self_ns, all_ns), unit.text(row.total.ns),
                                      percent(static_cast<double>(row.total.ns), all_ns)};
    for (std::string& cell : kind.cells(row)) cells.push_back(std::move(cell));
    table.add(std::move(cells), self_ns >= kStrongShare * all_ns);
  }
  std::string title = plural_of(2, kind.noun);
  title[0] = static_cast<char>(title[0] - 'a' + 'A');
  std::string text =
      context.style.heading(
          fmt::format("{}, {} ({})", title, order_text(options.sort, unit), unit_text(context))) +
      "\n" + table.text(options.width, context.style);
  if (shown < rows.size()) {
    text += context.style.faint(
                fmt::format("  and {} more {}, {} of self {}", count(rows.size() - shown),
                            plural_of(rows.size() - shown, kind.noun), unit.amount(folded_ns),
                            unit.is_time() ? "time" : "weight")) +
            "\n";
  }
  return text;
}

}  // namespace sampan::reports
