// sampan report: a recording as tables in the terminal, or as JSON.
#include "reports/report.h"
#include "profile/load.h"

#include <fmt/core.h>

#include <map>
#include <memory>

#include "base/nearest.h"
#include "cli/command.h"
#include "cli/recorded_profile.h"
#include "cli/recording_options.h"
#include "cli/table_options.h"
#include "cli/values.h"
#include "profile/shown.h"
#include "profile/view.h"
#include "recording/segments.h"

namespace sampan::cli {
namespace {

const std::map<std::string, reports::Sort> kSorts = {{"self", reports::Sort::kSelf},
                                                     {"total", reports::Sort::kTotal},
                                                     {"samples", reports::Sort::kSamples},
                                                     {"name", reports::Sort::kName},
                                                     {"file", reports::Sort::kFile}};
const std::map<std::string, reports::By> kKinds = {
    {"function", reports::By::kFunction}, {"line", reports::By::kLine},
    {"file", reports::By::kFile},         {"module", reports::By::kModule},
    {"thread", reports::By::kThread},     {"process", reports::By::kProcess}};

struct ReportOptions {
  RecordingOptions recording;
  TableOptions table;
  std::string sort = "self";
  std::string by = "function";
  unsigned top = 20;
  bool idle = false;
  bool tree = false;
  bool tasks = false;
  uint64_t blocking_ns = profile::kLongBlock;
  bool json = false;
  bool summary = false;
  std::string callers, callees, critical;
};

template <typename Value>
Value chosen(const std::map<std::string, Value>& choices, const std::string& option,
             const std::string& word) {
  const auto found = choices.find(word);
  if (found != choices.end()) return found->second;
  std::vector<std::string> words;
  std::string all;
  for (const auto& [name, value] : choices) {
    words.push_back(name);
    all += (all.empty() ? "" : ", ") + name;
  }
  throw UsageError("report: {} takes one of {}, not '{}'{}", option, all, word,
                   did_you_mean(word, words));
}

int report(const ReportOptions& options) {
  reports::PageOptions page = page_options(options.table);
  page.sort = chosen(kSorts, "--sort", options.sort);
  page.by = chosen(kKinds, "--by", options.by);
  page.top = options.top;
  page.idle = options.idle;
  page.tree = options.tree;
  page.tasks = options.tasks;
  page.least_block_ns = options.blocking_ns;
  page.callers = options.callers;
  page.callees = options.callees;
  page.critical = options.critical;
  page.recording = options.recording.recording;

  profile::Profile profile =
      profile::load(recording::read_whole(options.recording.path()), options.recording.python);
  show(options.recording.what.shown, &profile);
  const profile::View view = select(profile, options.recording.selection);
  page.notes = find_names(profile, options.recording.sysroot);
  print_paged(options.json      ? reports::json(view, page)
              : options.summary ? reports::summary(view, page)
                                : reports::page(view, page),
              options.table);
  return 0;
}

}  // namespace

void add_report(CLI::App& app, Commands& commands) {
  CLI::App* const command =
      app.add_subcommand("report", "Show tables of a recording in the terminal");
  const auto options = std::make_shared<ReportOptions>();
  add_recording_options(*command, options->recording);
  add_shown_options(*command, options->recording.what, options->recording.selection);
  add_sysroot_option(*command, options->recording.sysroot);
  command->add_option("--sort", options->sort, "Order of the rows")
      ->type_name("self|total|samples|name|file")
      ->envname("SAMPAN_SORT");
  command->add_option("--by", options->by, "What the rows stand for")
      ->type_name("function|line|file|module|thread|process")
      ->envname("SAMPAN_BY");
  command->add_option("--top", options->top, "Number of rows (0: all)")
      ->envname("SAMPAN_TOP")
      ->type_name("N");
  command->add_flag("--summary", options->summary,
                    "Show the essence on one screen: shares with their sampling error, and what to "
                    "ask next");
  command->add_flag("--idle", options->idle, "Include threads that only wait");
  command->add_flag("--tree", options->tree, "Show the call tree instead of the table");
  command
      ->add_option("--callers", options->callers,
                   "Show the callers of functions whose names contain NAME")
      ->type_name("NAME");
  command
      ->add_option("--callees", options->callees,
                   "Show what functions whose names contain NAME call")
      ->type_name("NAME");
  command
      ->add_option("--critical", options->critical,
                   "Show what the time of a thread, or of spans or sections with this name, was "
                   "spent on, over all threads that it waited for (recorded with --locks)")
      ->type_name("THREAD|SPAN|SECTION");
  command->add_flag("--tasks", options->tasks,
                    "Show the tasks of asyncio instead of the table, and what held their loops");
  add_time_option(*command, "--blocking",
                  "With --tasks or --json: show the steps that held their event loop for at least "
                  "this long, such as 1s; a plain number counts milliseconds",
                  [options](uint64_t ns) { options->blocking_ns = ns; },
                  {.least_ns = 0,
                   .plain_ns = kNsPerMs,
                   .allowed = "milliseconds, or a time such as 500ms or 2s"})
      ->default_str(fmt::format("{}ms", options->blocking_ns / kNsPerMs));
  add_table_options(*command, options->table);
  add_full_names_option(*command, options->table);
  command->add_flag("--json", options->json, "Print JSON, see docs/report-json.md");
  set_examples(*command, {"sampan report", "sampan report --tree -t worker-1",
                          "sampan report --callers malloc -2"});
  commands.actions[command] = [options] { return report(*options); };
}

}  // namespace sampan::cli
