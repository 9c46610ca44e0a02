// sampan spans: the durations of the spans that the program marked, and what happened in them.
#include "reports/spans.h"

#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/recorded_profile.h"
#include "cli/recording_options.h"
#include "cli/table_options.h"
#include "profile/spans.h"
#include "profile/traces.h"
#include "profile/view.h"
#include "reports/traces.h"

namespace sampan::cli {
namespace {

struct SpansOptions {
  std::vector<std::string> recordings;
  std::string sysroot;
  profile::Selection selection;
  profile::PythonFrames python = profile::PythonFrames::kMixed;
  TableOptions table;
  unsigned top = 20;
  bool tree = false;
  bool cpu = false;
  bool traces = false;
  bool csv = false;
  bool json = false;
  std::string explain;
};

reports::SpanReport report_of(const profile::View& view, const SpansOptions& options) {
  reports::SpanReport report{.view = view, .tree = options.tree};
  if (!options.cpu) {
    report.table = options.tree ? span_tree(view, span_parents(*view.profile)) : span_ranking(view);
    return report;
  }
  profile::SampledSpans sampled(*view.profile);
  report.table = options.tree ? span_tree(view, sampled.parents()) : span_ranking(view);
  report.times = span_times(view, report.table, sampled);
  return report;
}

profile::Profile load(const SpansOptions& options) {
  return load_together(labelled_paths(options.recordings), options.python);
}

int traces(const SpansOptions& options) {
  profile::Profile profile = load(options);
  reports::PageOptions page = page_options(options.table);
  page.top = options.top;
  page.notes = find_names(profile, options.sysroot);
  const profile::View view = select(profile, options.selection);
  const std::vector<profile::Trace> traces = profile::traces_of(view);
  print_paged(options.json ? reports::traces_json(view, traces, page.notes)
                           : reports::traces_page(view, traces, page),
              options.table);
  return 0;
}

int explain(const SpansOptions& options) {
  profile::Profile profile = load(options);
  reports::PageOptions page = page_options(options.table);
  page.top = options.top;
  page.notes = find_names(profile, options.sysroot);
  const profile::View view = select(profile, options.selection);
  profile::SampledSpans sampled(profile);
  const profile::SpanExplanation explanation = explain_span(view, options.explain, sampled);
  print_paged(options.json ? reports::explanation_json(view, explanation, page.notes)
                           : reports::explanation_page(view, explanation, page),
              options.table);
  return 0;
}

int spans(const SpansOptions& options) {
  if (options.csv && options.json) throw UsageError("spans: either --csv or --json");
  if (options.traces) {
    if (options.csv || options.tree || options.cpu || !options.explain.empty())
      throw UsageError("spans: --traces cannot be combined with --csv, --tree, --cpu or --explain");
    return traces(options);
  }
  if (!options.explain.empty()) {
    if (options.csv || options.tree)
      throw UsageError("spans: --explain cannot be combined with --csv or --tree");
    return explain(options);
  }
  const profile::Profile profile = load(options);
  const profile::View view = select(profile, options.selection);
  const reports::SpanReport report = report_of(view, options);
  reports::PageOptions page = page_options(options.table);
  page.top = options.top;
  print_paged(options.json  ? spans_json(report)
              : options.csv ? spans_csv(report)
                            : spans_page(report, page),
              options.table);
  return 0;
}

}  // namespace

void add_spans(CLI::App& app, Commands& commands) {
  CLI::App* const command =
      app.add_subcommand("spans", "Show the durations of the spans that the program marked");
  const auto options = std::make_shared<SpansOptions>();
  command->add_option(
      "RECORDING", options->recordings,
      "A recording.sampan, or its directory (default: -1, the latest); several of the "
      "services of a request, as LABEL=RECORDING or RECORDING");
  command->callback([options] {
    if (options->recordings.empty()) options->recordings = {"-1"};
  });
  add_selection_options(*command, options->selection);
  add_python_option(*command, options->python);
  add_sysroot_option(*command, options->sysroot);
  command->add_flag("--tree", options->tree, "Show nested spans below their parents");
  command->add_flag("--cpu", options->cpu,
                    "Show what threads did in them, from the samples: on CPU, waiting");
  command->add_flag(
      "--traces", options->traces,
      "Show requests across services: for each trace id, what each process did for it");
  command
      ->add_option("--explain", options->explain,
                   "Show what the slowest 1 % of the spans with this name do differently")
      ->type_name("NAME");
  command->add_option("--top", options->top, "Number of rows (0: all)")->type_name("N");
  add_table_options(*command, options->table);
  add_full_names_option(*command, options->table);
  command->add_flag("--csv", options->csv, "Print all rows as comma-separated values");
  command->add_flag("--json", options->json, "Print JSON, see docs/spans-json.md");
  set_examples(*command, {"sampan spans --tree --cpu", "sampan spans --explain request",
                          "sampan spans --traces web=DIR db=DIR"});
  commands.actions[command] = [options] { return spans(*options); };
}

}  // namespace sampan::cli
