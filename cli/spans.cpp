// sampan spans: the durations of the spans that the program marked, and what happened in them.
#include "reports/spans.h"

#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/recorded_profile.h"
#include "cli/recording_options.h"
#include "cli/table_options.h"
#include "profile/spans.h"
#include "profile/view.h"

namespace sampan::cli {
namespace {

struct SpansOptions {
  RecordingOptions recording;
  TableOptions table;
  unsigned top = 20;
  bool tree = false;
  bool cpu = false;
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

int explain(const SpansOptions& options) {
  profile::Profile profile = load_profile(options.recording);
  reports::PageOptions page = page_options(options.table);
  page.top = options.top;
  page.notes = find_names(profile, options.recording.sysroot);
  const profile::View view = select(profile, options.recording.selection);
  profile::SampledSpans sampled(profile);
  const profile::SpanExplanation explanation = explain_span(view, options.explain, sampled);
  print_paged(options.json ? reports::explanation_json(view, explanation, page.notes)
                           : reports::explanation_page(view, explanation, page),
              options.table);
  return 0;
}

int spans(const SpansOptions& options) {
  if (options.csv && options.json) throw UsageError("spans: either --csv or --json");
  if (!options.explain.empty()) {
    if (options.csv || options.tree)
      throw UsageError("spans: --explain cannot be combined with --csv or --tree");
    return explain(options);
  }
  const profile::Profile profile = load_profile(options.recording);
  const profile::View view = select(profile, options.recording.selection);
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
  add_recording_options(*command, options->recording);
  add_sysroot_option(*command, options->recording.sysroot);
  command->add_flag("--tree", options->tree, "Show nested spans below their parents");
  command->add_flag("--cpu", options->cpu,
                    "Show what threads did in them, from the samples: on CPU, waiting");
  command
      ->add_option("--explain", options->explain,
                   "Show what the slowest 1 % of the spans with this name do differently")
      ->type_name("NAME");
  command->add_option("--top", options->top, "Number of rows (0: all)")->type_name("N");
  add_table_options(*command, options->table);
  add_full_names_option(*command, options->table);
  command->add_flag("--csv", options->csv, "Print all rows as comma-separated values");
  command->add_flag("--json", options->json, "Print JSON, see docs/spans-json.md");
  set_examples(*command,
               {"sampan spans", "sampan spans --tree --cpu", "sampan spans --explain request"});
  commands.actions[command] = [options] { return spans(*options); };
}

}  // namespace sampan::cli
