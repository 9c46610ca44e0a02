#include "reports/workers.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/text/csv_row.h"
#include "base/text/json_writer.h"
#include "base/text/readable.h"
#include "profile/frames.h"
#include "reports/table.h"

namespace sampan::reports {
namespace {

using profile::Worker;
using profile::WorkerRow;
using profile::Workers;

std::string seconds_text(double ns) {
  return seconds(static_cast<uint64_t>(ns));
}

double to_seconds(double ns) {
  return ns / static_cast<double>(kNsPerSecond);
}

std::string rows_table(const profile::Profile& profile, const Workers& workers, size_t shown,
                       const PageOptions& options, const Style& style) {
  Table table({{.title = "excess"},
               {.title = "mean"},
               {.title = "least"},
               {.title = "most"},
               {.title = "deviation"},
               {.title = "most/mean"},
               {.title = "slowest", .left = true, .minimum = 8},
               function_column(options),
               {.title = "module", .left = true, .minimum = 8}});
  for (size_t i = 0; i < shown; ++i) {
    const WorkerRow& row = workers.rows[i];
    table.add({seconds_text(row.excess_ns()), seconds_text(row.mean_ns),
               seconds_text(row.least_ns()), seconds_text(row.most_ns()),
               seconds_text(row.deviation_ns), fmt::format("{:.2f}", row.imbalance()),
               printable(workers.workers[row.most].name),
               function_cell(profile, row.function, options),
               function_module_cell(profile, row.function)});
  }
  return table.text(options.width, style);
}

// Those that differ most from the others first.
std::string workers_table(const profile::Profile& profile, const Workers& workers,
                          const PageOptions& options, const Style& style) {
  std::vector<size_t> order(workers.workers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](size_t worker) { return workers.workers[worker].distance; });
  if (options.top != 0) order.resize(std::min<size_t>(order.size(), options.top));
  Table table({{.title = "differs %"},
               {.title = "seconds"},
               {.title = "MPI %"},
               {.title = "worker", .left = true, .minimum = 8},
               {.title = "mostly by", .left = true, .minimum = 16}});
  const bool has_mpi =
      std::ranges::any_of(workers.workers, [](const Worker& worker) { return worker.mpi_ns != 0; });
  for (const size_t each : order) {
    const Worker& worker = workers.workers[each];
    std::string names;
    for (const uint32_t function : worker.differs_by) {
      names += (names.empty() ? "" : ", ") + function_cell(profile, function, options);
    }
    table.add(
        {fmt::format("{:.1f}", 100 * worker.distance), seconds(worker.total.ns),
         has_mpi ? percent(static_cast<double>(worker.mpi_ns), static_cast<double>(worker.total.ns))
                 : "",
         printable(worker.name), names});
  }
  return table.text(options.width, style);
}

}  // namespace

std::string workers_page(const profile::View& view, const Workers& workers,
                         const PageOptions& options) {
  const profile::Profile& profile = *view.profile;
  const Style style(options.colour);
  const size_t shown =
      options.top == 0 ? workers.beyond_noise : std::min<size_t>(options.top, workers.beyond_noise);
  std::string text = style.heading(fmt::format(
                         "Functions of {}, by what the slowest takes more than the mean (seconds)",
                         plural(workers.workers.size(), "worker"))) +
                     "\n";
  text += shown == 0 ? "  none beyond the noise of sampling\n"
                     : rows_table(profile, workers, shown, options, style);
  const size_t still = workers.rows.size() - workers.beyond_noise;
  const std::string rest =
      (shown < workers.beyond_noise
           ? fmt::format("and {} more beyond noise, ", count(workers.beyond_noise - shown))
           : "") +
      fmt::format("{} without an imbalance beyond noise", plural(still, "function"));
  text += "  " + style.faint(rest) + "\n";
  for (const std::string& note : options.notes) {
    for (const std::string& line : wrap("note: " + printable(note), options.text_width() - 2)) {
      text += "  " + style.warning(line) + "\n";
    }
  }
  return text + "\n" + style.heading("Workers, those that differ most from the others first") +
         "\n" + workers_table(profile, workers, options, style);
}

std::string workers_json(const profile::View& view, const Workers& workers,
                         const std::vector<std::string>& notes) {
  const profile::Profile& profile = *view.profile;
  Json json;
  json.object([&] {
    json.member("beyond_noise", uint64_t{workers.beyond_noise});
    json.member("notes", notes);
    json.objects("workers", workers.workers, [&](const Worker& worker) {
      json.member("name", worker.name);
      json.member("time_s", to_seconds(static_cast<double>(worker.total.ns)));
      json.member("samples", worker.total.samples);
      json.member("mpi_s", to_seconds(static_cast<double>(worker.mpi_ns)));
      json.member("distance", worker.distance);
      json.key("differs_by");
      json.array(worker.differs_by,
                 [&](uint32_t function) { json.value(profile::function_name(profile, function)); });
    });
    json.objects("functions", workers.rows, [&](const WorkerRow& row) {
      const profile::Function function =
          row.function == profile::kNone ? profile::Function{} : profile.functions[row.function];
      json.member("name", profile::function_name(profile, row.function));
      json.member("module", function_module_path(profile, row.function));
      json.member("file", profile.strings[function.file]);
      json.member("line", function.line);
      json.member("mean_s", to_seconds(row.mean_ns));
      json.member("least_s", to_seconds(row.least_ns()));
      json.member("most_s", to_seconds(row.most_ns()));
      json.member("deviation_s", to_seconds(row.deviation_ns));
      json.member("excess_s", to_seconds(row.excess_ns()));
      json.member("slowest", workers.workers[row.most].name);
      json.member("beyond_noise", row.beyond_noise);
    });
  });
  return json.text();
}

std::string workers_csv(const profile::View& view, const Workers& workers) {
  CsvRow csv;
  csv.text("function").text("module").text("beyond_noise");
  for (const Worker& worker : workers.workers) csv.text(worker.name);
  std::string text(csv.end());
  for (const WorkerRow& row : workers.rows) {
    csv.text(profile::function_name(*view.profile, row.function));
    csv.text(function_module_path(*view.profile, row.function)).number(int{row.beyond_noise});
    for (const double ns : row.ns) csv.seconds(static_cast<uint64_t>(ns));
    text += csv.end();
  }
  return text;
}

}  // namespace sampan::reports
