// sampan doctor RECORDING: in which modules the CPU time was that has no names, and what would
// give them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>

#include "cli/doctor_modules.h"
#include "cli/progress.h"
#include "cli/recorded_profile.h"
#include "profile/frames.h"
#include "profile/unresolved.h"
#include "reports/json_writer.h"
#include "reports/rates.h"
#include "reports/report.h"
#include "reports/style.h"
#include "reports/text.h"

namespace sampan::cli {
namespace {

struct Row {
  profile::Unresolved lack;
  std::string module;
  std::string build_id;
  ModuleNames names;
};

ModuleNames of_run_time_code() {
  return {false, "code that was made at run time, without a map",
          "let the runtime write one: node --perf-basic-prof, java -XX:+DumpPerfMapAtExit", ""};
}

std::vector<Row> rows_of(const profile::Profile& profile) {
  const std::vector<profile::Unresolved> lacks = unresolved_by_module(profile);
  std::vector<ModuleFile> modules;
  for (const profile::Unresolved& lack : lacks) {
    if (lack.module == profile::kNone) continue;
    const profile::Module& module = profile.modules[lack.module];
    modules.push_back({module, module.path});
  }
  const std::vector<ModuleNames> names = look_for_names(modules);
  std::vector<Row> rows;
  size_t next = 0;
  for (const profile::Unresolved& lack : lacks) {
    if (lack.module == profile::kNone) {
      rows.push_back({lack, "", "", of_run_time_code()});
      continue;
    }
    const profile::Module& module = modules[next].module;
    rows.push_back(
        {lack, module.path, fmt::format("{:02x}", fmt::join(module.build_id, "")), names[next++]});
    if (rows.back().names.good) {
      rows.back().names.advice = "its debug information does not know all of its code";
    }
  }
  return rows;
}

uint64_t sampled_ns(const profile::Profile& profile) {
  uint64_t sum = 0;
  for (const profile::Sample& sample : profile.samples) {
    if (sample.wait == profile::kNone) sum += sample.weight_ns;
  }
  return sum;
}

std::string to_json(const profile::Profile& profile, uint64_t all_ns,
                    const std::vector<Row>& rows) {
  const auto seconds = [](uint64_t ns) { return static_cast<double>(ns) * 1e-9; };
  uint64_t unnamed_ns = 0;
  for (const Row& row : rows) unnamed_ns += row.lack.unnamed_ns;
  reports::Json json;
  json.object([&] {
    json.member("rate", reports::rate_text(profile));
    json.member("cost", reports::cost_text(profile));
    json.member("sampled_cpu_s", seconds(all_ns));
    json.member("unnamed_cpu_s", seconds(unnamed_ns));
    json.objects("modules", rows, [&](const Row& row) {
      json.member("module", row.module);
      json.member("build_id", row.build_id);
      json.member("unnamed_cpu_s", seconds(row.lack.unnamed_ns));
      json.member("unnamed_on_stack_cpu_s", seconds(row.lack.on_stack_ns));
      json.member("without_lines_cpu_s", seconds(row.lack.without_lines_ns));
      json.member("verdict", row.names.verdict);
      json.member("advice", row.names.advice);
      json.member("package", row.names.package);
    });
  });
  return json.text();
}

void print(const profile::Profile& profile, uint64_t all_ns, const std::vector<Row>& rows,
           const reports::PageOptions& options) {
  const reports::Style style(options.colour);
  uint64_t unnamed_ns = 0;
  for (const Row& row : rows) unnamed_ns += row.lack.unnamed_ns;
  const auto all = static_cast<double>(all_ns);
  fmt::print("rate: {}\n", reports::rate_text(profile));
  if (const std::string cost = reports::cost_text(profile); !cost.empty()) {
    fmt::print("cost: {}\n", cost);
  }
  fmt::print("{} s of {} s of CPU ({} %) in functions without a name\n",
             reports::seconds(unnamed_ns), reports::seconds(all_ns),
             reports::percent(static_cast<double>(unnamed_ns), all));
  if (!rows.empty()) {
    fmt::print("{}\n", style.faint("  no name    on stack    no line  module"));
  }
  for (const Row& row : rows) {
    const auto share = [&](uint64_t ns) {
      return reports::percent(static_cast<double>(ns), all) + " %";
    };
    fmt::print("{:>9}  {:>10} {:>10}  {}\n", share(row.lack.unnamed_ns),
               share(row.lack.on_stack_ns), share(row.lack.without_lines_ns),
               row.module.empty() ? "[made at run time]" : reports::printable(row.module));
    const auto lines_of = [&](const std::string& text) {
      return reports::wrap(reports::printable(text), options.width - 6);
    };
    for (const std::string& line : lines_of(row.names.verdict)) fmt::print("      {}\n", line);
    for (const std::string& line : lines_of(row.names.advice)) {
      fmt::print("      {}\n", style.faint(line));
    }
  }
}

}  // namespace

int examine_recording(const std::string& path, bool json) {
  profile::Profile profile = profile::load(read_recording(path));
  {
    Progress progress;
    find_names(profile, progress);
  }
  const std::vector<Row> rows = rows_of(profile);
  const uint64_t all_ns = sampled_ns(profile);
  if (json) {
    fmt::print("{}", to_json(profile, all_ns, rows));
  } else {
    print(profile, all_ns, rows, reports::page_options_for(stdout));
  }
  return 0;
}

}  // namespace sampan::cli
