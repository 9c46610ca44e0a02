#include "reports/workers.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

#include "base/text/csv_row.h"
#include "base/text/json_writer.h"
#include "base/text/readable.h"
#include "base/time.h"
#include "profile/frames.h"
#include "reports/table.h"

namespace sampan::reports {
namespace {

using profile::Spread;
using profile::Worker;
using profile::WorkerRow;
using profile::Workers;

std::string seconds_text(double ns) {
  return seconds(static_cast<uint64_t>(ns));
}

constexpr const char* kSpreadTitles[] = {"excess", "mean",      "least",
                                         "most",   "deviation", "most/mean"};

std::vector<Column> spread_columns(std::vector<Column> more) {
  std::vector<Column> columns;
  for (const char* const title : kSpreadTitles) columns.push_back({.title = title});
  columns.push_back({.title = "slowest", .left = true, .minimum = 8});
  for (Column& column : more) columns.push_back(std::move(column));
  return columns;
}

// The cells of spread_columns(). `text`: of a value.
std::vector<std::string> spread_cells(const Spread& spread, const Workers& workers,
                                      const std::function<std::string(double)>& text) {
  return {text(spread.excess()),
          text(spread.mean),
          text(spread.lowest()),
          text(spread.highest()),
          text(spread.deviation),
          spread.mean == 0 ? "" : fmt::format("{:.2f}", spread.imbalance()),
          printable(workers.workers[spread.most].name)};
}

size_t shown(size_t rows, const PageOptions& options) {
  return options.top == 0 ? rows : std::min<size_t>(options.top, rows);
}

std::string rows_table(const profile::Profile& profile, const Workers& workers, size_t rows,
                       const PageOptions& options, const Style& style) {
  Table table(
      spread_columns({function_column(options), {.title = "module", .left = true, .minimum = 8}}));
  for (size_t i = 0; i < rows; ++i) {
    const WorkerRow& row = workers.rows[i];
    std::vector<std::string> cells = spread_cells(row.ns, workers, seconds_text);
    cells.push_back(function_cell(profile, row.function, options));
    cells.push_back(function_module_cell(profile, row.function));
    table.add(std::move(cells));
  }
  return table.text(options.width, style);
}

std::string spans_table(const profile::Profile& profile, const Workers& workers,
                        const PageOptions& options, const Style& style) {
  Table table(spread_columns({{.title = "span", .left = true, .minimum = 8}}));
  for (size_t i = 0; i < shown(workers.spans.size(), options); ++i) {
    const profile::WorkerSpan& row = workers.spans[i];
    std::vector<std::string> cells = spread_cells(row.ns, workers, seconds_text);
    cells.push_back(printable(profile.markers.texts[row.name]));
    table.add(std::move(cells));
  }
  return table.text(options.width, style);
}

const char* value_of(const profile::WorkerCounter& row) {
  return row.is_total ? "last" : "mean";
}

std::string counters_table(const profile::Profile& profile, const Workers& workers,
                           const PageOptions& options, const Style& style) {
  std::vector<Column> columns = spread_columns(
      {{.title = "value", .left = true}, {.title = "counter", .left = true, .minimum = 8}});
  columns[std::size(kSpreadTitles)].title = "highest";
  Table table(std::move(columns));
  for (size_t i = 0; i < shown(workers.counters.size(), options); ++i) {
    const profile::WorkerCounter& row = workers.counters[i];
    std::vector<std::string> cells = spread_cells(
        row.values, workers, [](double value) { return fmt::format("{:.6g}", value); });
    cells.emplace_back(value_of(row));
    cells.push_back(printable(profile.markers.texts[row.name]));
    table.add(std::move(cells));
  }
  return table.text(options.width, style);
}

std::string differences(const profile::Profile& profile, const Worker& worker,
                        const PageOptions& options) {
  std::string text;
  for (const profile::Difference& each : worker.differs_by) {
    text += fmt::format("{}{} {:+.1f}", text.empty() ? "" : ", ",
                        function_cell(profile, each.function, options),
                        100 * (each.share - each.mean_share));
  }
  return text;
}

// Those that differ most from the others first.
std::string workers_table(const profile::View& view, const Workers& workers,
                          const PageOptions& options, const Style& style) {
  std::vector<size_t> order(workers.workers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](size_t worker) { return workers.workers[worker].distance; });
  order.resize(shown(order.size(), options));
  Table table({{.title = "differs %"},
               {.title = "outlier", .left = true},
               {.title = "seconds"},
               {.title = "computing"},
               {.title = "MPI"},
               {.title = "waiting"},
               {.title = "worker", .left = true, .minimum = 8},
               {.title = "by more (+) or less (-) of its time, %", .left = true, .minimum = 16}});
  const bool has_mpi =
      std::ranges::any_of(workers.workers, [](const Worker& worker) { return worker.mpi_ns != 0; });
  const bool has_waits = view.is_of_wall_time();
  for (const size_t each : order) {
    const Worker& worker = workers.workers[each];
    table.add({fmt::format("{:.1f}", 100 * worker.distance), worker.is_outlier ? "yes" : "",
               seconds(worker.total.ns), has_mpi || has_waits ? seconds(worker.computing_ns()) : "",
               has_mpi ? seconds(worker.mpi_ns) : "", has_waits ? seconds(worker.waiting_ns) : "",
               printable(worker.name), differences(*view.profile, worker, options)},
              worker.is_outlier);
  }
  return table.text(options.width, style);
}

}  // namespace

std::string workers_page(const profile::View& view, const Workers& workers,
                         const PageOptions& options) {
  const profile::Profile& profile = *view.profile;
  const Style style(options.colour);
  const size_t rows = shown(workers.beyond_noise, options);
  std::string text = style.heading(fmt::format(
                         "Functions of {}, by what the slowest takes more than the mean (seconds)",
                         plural(workers.workers.size(), "worker"))) +
                     "\n";
  text += rows == 0 ? "  none beyond the noise of sampling\n"
                    : rows_table(profile, workers, rows, options, style);
  const size_t still = workers.rows.size() - workers.beyond_noise;
  const std::string rest =
      (rows < workers.beyond_noise
           ? fmt::format("and {} more beyond noise, ", count(workers.beyond_noise - rows))
           : "") +
      fmt::format("{} without an imbalance beyond noise", plural(still, "function"));
  text += "  " + style.faint(rest) + "\n";
  for (const std::string& note : options.notes) {
    for (const std::string& line : wrap("note: " + printable(note), options.text_width() - 2)) {
      text += "  " + style.warning(line) + "\n";
    }
  }
  if (!workers.spans.empty()) {
    text += "\n" + style.heading("Spans, by what the slowest takes more than the mean (seconds)") +
            "\n" + spans_table(profile, workers, options, style);
  }
  if (!workers.counters.empty()) {
    text += "\n" + style.heading("Counters, by deviation/mean") + "\n" +
            counters_table(profile, workers, options, style);
  }
  return text + "\n" +
         style.heading("Workers, those that differ most from the others first (seconds)") + "\n" +
         workers_table(view, workers, options, style);
}

namespace {

// `suffix`: of the keys that have the unit of the values; `divisor`: by which they are divided.
void write_spread(Json& json, const Spread& spread, const Workers& workers,
                  const std::string& suffix, double divisor) {
  const std::pair<const char*, double> members[] = {{"mean", spread.mean},
                                                    {"least", spread.lowest()},
                                                    {"most", spread.highest()},
                                                    {"deviation", spread.deviation},
                                                    {"excess", spread.excess()}};
  for (const auto& [name, value] : members) json.member(name + suffix, value / divisor);
  json.member(suffix.empty() ? "highest" : "slowest", workers.workers[spread.most].name);
}

void write_worker(Json& json, const profile::Profile& profile, const Worker& worker) {
  json.member("name", worker.name);
  json.member("time_s", in_seconds(worker.total.ns));
  json.member("samples", worker.total.samples);
  json.member("computing_s", in_seconds(worker.computing_ns()));
  json.member("mpi_s", in_seconds(worker.mpi_ns));
  json.member("waiting_s", in_seconds(worker.waiting_ns));
  json.member("distance", worker.distance);
  json.member("outlier", worker.is_outlier);
  json.objects("differs_by", worker.differs_by, [&](const profile::Difference& each) {
    json.member("name", profile::function_name(profile, each.function));
    json.member("share", each.share);
    json.member("mean_share", each.mean_share);
  });
}

}  // namespace

std::string workers_json(const profile::View& view, const Workers& workers,
                         const std::vector<std::string>& notes) {
  const profile::Profile& profile = *view.profile;
  constexpr auto kNs = static_cast<double>(kNsPerSecond);
  Json json;
  json.object([&] {
    json.member("beyond_noise", uint64_t{workers.beyond_noise});
    json.member("notes", notes);
    json.objects("workers", workers.workers,
                 [&](const Worker& worker) { write_worker(json, profile, worker); });
    json.objects("functions", workers.rows, [&](const WorkerRow& row) {
      const profile::Function function =
          row.function == profile::kNone ? profile::Function{} : profile.functions[row.function];
      json.member("name", profile::function_name(profile, row.function));
      json.member("module", function_module_path(profile, row.function));
      json.member("file", profile.strings[function.file]);
      json.member("line", function.line);
      write_spread(json, row.ns, workers, "_s", kNs);
      json.member("beyond_noise", row.beyond_noise);
    });
    json.objects("spans", workers.spans, [&](const profile::WorkerSpan& row) {
      json.member("name", profile.markers.texts[row.name]);
      write_spread(json, row.ns, workers, "_s", kNs);
    });
    json.objects("counters", workers.counters, [&](const profile::WorkerCounter& row) {
      json.member("name", profile.markers.texts[row.name]);
      json.member("value", value_of(row));
      write_spread(json, row.values, workers, "", 1);
    });
  });
  return json.text();
}

std::string workers_csv(const profile::View& view, const Workers& workers) {
  const profile::Profile& profile = *view.profile;
  CsvRow csv;
  csv.text("kind").text("name").text("module").text("beyond_noise");
  for (const Worker& worker : workers.workers) csv.text(worker.name);
  std::string text(csv.end());
  for (const WorkerRow& row : workers.rows) {
    csv.text("function").text(profile::function_name(profile, row.function));
    csv.text(function_module_path(profile, row.function)).number(int{row.beyond_noise});
    for (const double ns : row.ns.values) csv.seconds(static_cast<uint64_t>(ns));
    text += csv.end();
  }
  for (const profile::WorkerSpan& row : workers.spans) {
    csv.text("span").text(profile.markers.texts[row.name]).empty().empty();
    for (const double ns : row.ns.values) csv.seconds(static_cast<uint64_t>(ns));
    text += csv.end();
  }
  for (const profile::WorkerCounter& row : workers.counters) {
    csv.text("counter").text(profile.markers.texts[row.name]).empty().empty();
    for (const double value : row.values.values) csv.raw(fmt::format("{}", value));
    text += csv.end();
  }
  return text;
}

}  // namespace sampan::reports
