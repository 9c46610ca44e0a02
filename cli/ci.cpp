// sampan ci: a gate for performance. It runs a command several times, and judges budgets.
#include <fmt/core.h>
#include <wordexp.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/say.h"
#include "base/temporary_directory.h"
#include "base/text/readable.h"
#include "cli/command.h"
#include "cli/recorded_profile.h"
#include "cli/recording_options.h"
#include "cli/run_options.h"
#include "cli/runs_in_turn.h"
#include "cli/signals.h"
#include "cli/table_options.h"
#include "exporters/exporter.h"
#include "exporters/output_file.h"
#include "profile/diff.h"
#include "profile/load.h"
#include "profile/view.h"
#include "recording/merge.h"
#include "reports/gate/baseline.h"
#include "reports/gate/budgets.h"
#include "reports/gate/environment.h"
#include "reports/gate/results.h"

namespace sampan::cli {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr unsigned kUsualRuns = 10;
constexpr int kExitBroken = 1, kExitUnknown = 2;

struct CiOptions {
  std::string action;
  std::optional<unsigned> runs;
  std::string budgets = "sampan-ci.toml";
  std::string baseline, against;
  std::string output = "sampan-baseline.json";
  std::string junit, markdown, html;
  bool github = false, together = false;
  SamplingOptions sampling;
  TableOptions table;
};

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& text) {
  exporters::OutputFile file(path);
  file.write(text);
  file.commit();
}

// The words of a command line, as the shell splits it. There is no shell: its start would count.
Words words_of(const std::string& line) {
  wordexp_t split{};
  const int error = wordexp(line.c_str(), &split, WRDE_NOCMD);
  if (error != 0) {
    throw UsageError(
        "ci: --against takes a program and its arguments; for more of the shell: sh -c '…'");
  }
  Words words(split.we_wordv, split.we_wordv + split.we_wordc);
  wordfree(&split);
  return words;
}

void write_page(const Side& before, const Side& now, const std::string& path) {
  profile::Profile profile =
      profile::load_sides({"before", read_recording(recording_path(before.last))},
                          {"now", read_recording(recording_path(now.last))});
  find_names(profile);
  profile::match_functions(profile);
  const exporters::Format& page = exporters::format("html");
  page.write(profile::select(profile), path, page.max_size);
}

int make_baseline(const CiOptions& options, const Words& command) {
  StopSignals stop;  // later signals end us when the directory is gone
  const TemporaryDirectory directory("sampan-ci-");
  Side now{.command = command, .values = {}, .last = {}};
  const unsigned runs = options.runs.value_or(kUsualRuns);
  reports::Baseline baseline{
      .command = command, .environment = reports::environment_now(), .series = {}};
  if (fs::exists(options.budgets)) {
    for (const reports::Budget& budget : reports::read_budgets(options.budgets).budgets) {
      now.values[budget.quantity];
    }
  }
  run_in_turn(
      {&now},
      {.sampling = options.sampling, .directory = directory.path(), .runs = runs, .notable = true},
      stop);
  for (const auto& [quantity, values] : now.values) {
    const std::vector<double> known = values.known(quantity.subject);
    if (!known.empty()) baseline.series[quantity] = reports::series_of(known, values.resolution);
  }
  write_file(options.output, reports::baseline_text(baseline));
  fmt::print("{}: {} of {}\n", options.output, plural(runs, "run"), command.front());
  return 0;
}

void write_results(const reports::GateResults& results, const CiOptions& options) {
  if (!options.junit.empty()) write_file(options.junit, reports::gate_junit(results));
  if (!options.markdown.empty()) write_file(options.markdown, reports::gate_markdown(results));
  if (options.github) fmt::print("{}", reports::gate_annotations(results));
  print_paged(reports::gate_page(results, page_options(options.table)), options.table);
}

// Two that share a CPU wait for each other.
void refuse_times(const reports::Budgets& budgets) {
  for (const reports::Budget& budget : budgets.budgets) {
    if (reports::is_cpu(budget.quantity.figure)) continue;
    throw Error("ci: --together is for budgets of CPU, not of '{}': without it, both run in turn",
                reports::key_of(budget.quantity));
  }
}

int judge_runs(const CiOptions& options, const Words& command) {
  const reports::Budgets budgets = reports::read_budgets(options.budgets);
  std::optional<reports::Baseline> baseline;
  if (!options.baseline.empty()) {
    if (!fs::exists(options.baseline)) {
      throw Error("{}: no such file: make it by sampan ci baseline -o {} -- COMMAND",
                  options.baseline, options.baseline);
    }
    baseline = reports::parse_baseline(text_of(options.baseline), options.baseline);
  }
  if (options.together) refuse_times(budgets);
  page_options(options.table);  // refuses a wrong width now
  StopSignals stop;             // later signals end us when the directory is gone
  const TemporaryDirectory directory("sampan-ci-");
  Side now{.command = command, .values = {}, .last = {}};
  Side before{.command = words_of(options.against), .values = {}, .last = {}};
  for (const reports::Budget& budget : budgets.budgets) {
    now.values[budget.quantity];
    before.values[budget.quantity];
  }
  std::vector<Side*> sides = {&now};
  if (!options.against.empty()) sides.push_back(&before);
  reports::GateResults results{.command = command,
                               .differences = {},
                               .rows = {},
                               .runs = options.runs.value_or(budgets.runs.value_or(kUsualRuns))};
  if (baseline) {
    results.differences = reports::differences(baseline->environment, reports::environment_now());
  }
  run_in_turn(sides,
              {.sampling = options.sampling,
               .directory = directory.path(),
               .runs = static_cast<unsigned>(results.runs),
               .together = options.together},
              stop);
  for (const reports::Budget& budget : budgets.budgets) {
    reports::GateValues values{.now = now.values[budget.quantity],
                               .before = before.values[budget.quantity]};
    if (baseline) {
      const auto found = baseline->series.find(budget.quantity);
      if (found != baseline->series.end()) values.baseline = found->second;
    }
    results.rows.push_back(reports::judge(budget, values, reports::verdicts_of(budgets.budgets)));
  }
  if (!options.html.empty()) write_page(before, now, options.html);
  write_results(results, options);
  switch (results.verdict()) {
    case reports::Verdict::kHeld: return 0;
    case reports::Verdict::kBroken: return kExitBroken;
    case reports::Verdict::kUnknown: break;
  }
  return kExitUnknown;
}

int ci(const CiOptions& options, const Words& command) {
  if (command.empty()) throw UsageError("ci: a command is wanted: sampan ci run -- COMMAND");
  if (options.runs == 1u)
    throw UsageError("ci: --runs takes 2 or more: one run does not say how much runs differ");
  if (!options.baseline.empty() && !options.against.empty()) {
    throw UsageError("ci: either --baseline or --against");
  }
  if (options.together && options.against.empty()) {
    throw UsageError("ci: --together runs two commands, so it needs --against COMMAND");
  }
  if (!options.html.empty() && options.against.empty()) {
    throw UsageError("ci: --html compares recordings, so it needs --against COMMAND");
  }
  try {
    return options.action == "baseline" ? make_baseline(options, command)
                                        : judge_runs(options, command);
  } catch (const UsageError&) {
    throw;
  } catch (const std::exception& error) {
    say("sampan: {}\n", error.what());
    return kExitUnknown;  // 1 would say that a budget is broken
  }
}

}  // namespace

void add_ci(CLI::App& app, Commands& commands) {
  CLI::App* const command = app.add_subcommand(
      "ci", "Judge whether a command keeps its budgets of time, by several runs: for CI");
  const auto options = std::make_shared<CiOptions>();
  command
      ->add_option(
          "ACTION", options->action,
          "run: judge the budgets, exit with 0: all hold, 1: one is broken, 2: it cannot be "
          "told; baseline: write what later runs are compared with")
      ->required()
      ->type_name("run|baseline")
      ->check(CLI::IsMember({"run", "baseline"}).description(""));
  command
      ->add_option("--runs", options->runs,
                   "How often the command runs (default: what the budgets say, else 10)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000).description(""));
  command->add_option("--budgets", options->budgets, "File of the budgets, see docs/ci.md")
      ->type_name("FILE")
      ->capture_default_str();
  command->add_option("--baseline", options->baseline, "Compare with the runs of this file")
      ->type_name("FILE");
  command
      ->add_option("--against", options->against,
                   "Compare with this program and its arguments; both run in turn")
      ->type_name("COMMAND");
  command->add_flag(
      "--together", options->together,
      "With --against: run both at the same time, on one CPU that they share: on a noisy machine "
      "fewer runs are enough");
  command->add_option("-o,--output", options->output, "baseline: the file to write")
      ->type_name("FILE")
      ->capture_default_str();
  command->add_option("--junit", options->junit, "Write the verdicts as JUnit XML")
      ->type_name("FILE");
  command->add_option("--markdown", options->markdown, "Write the verdicts as Markdown")
      ->type_name("FILE");
  command->add_option("--html", options->html, "With --against: write a page with both sides")
      ->type_name("FILE");
  command->add_flag("--github", options->github, "Print annotations for GitHub Actions");
  add_sampling_options(*command, options->sampling);
  add_table_options(*command, options->table);
  set_examples(*command,
               {"sampan ci run -- ./app --work", "sampan ci baseline -- ./app --work",
                "sampan ci run --against 'old/app --work' -- new/app --work"},
               "sampan ci run|baseline [OPTIONS] -- COMMAND [ARG...]");
  commands.actions[command] = [options, &commands] {
    return ci(*options, std::exchange(commands.program, {}));
  };
}

}  // namespace sampan::cli
