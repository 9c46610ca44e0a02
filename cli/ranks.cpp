// sampan ranks: the workers of one job beside each other.
#include <memory>
#include <string>
#include <utility>

#include "cli/command.h"
#include "cli/recorded_profile.h"
#include "cli/recording_options.h"
#include "cli/table_options.h"
#include "profile/diff.h"
#include "profile/view.h"
#include "profile/workers.h"
#include "reports/workers.h"

namespace sampan::cli {
namespace {

struct RanksOptions {
  RecordingOptions recording;
  TableOptions table;
  std::string of = "self";
  unsigned top = 20;
  bool json = false;
  bool csv = false;
};

int ranks(const RanksOptions& options) {
  if (options.csv && options.json) throw UsageError("ranks: either --csv or --json");
  profile::Profile profile = load_profile(options.recording);
  if (!profile.session.unit.empty()) {
    throw Error("ranks compares times, and this recording counts {}", profile.session.unit);
  }
  reports::PageOptions page = page_options(options.table);
  page.top = options.top;
  page.notes = find_names(profile, options.recording.sysroot);
  profile::match_functions(profile);
  const profile::View view = profile::select(profile, options.recording.selection);
  const profile::Workers workers = profile::compare_workers(
      view, options.of == "total" ? profile::ShareOf::kTotal : profile::ShareOf::kSelf);
  print_paged(options.json  ? reports::workers_json(view, workers, page.notes)
              : options.csv ? reports::workers_csv(view, workers)
                            : reports::workers_page(view, workers, page),
              options.table);
  return 0;
}

}  // namespace

void add_ranks(CLI::App& app, Commands& commands) {
  CLI::App* const command = app.add_subcommand(
      "ranks", "Compare the workers of one job: the recordings of a merged one, or the processes");
  const auto options = std::make_shared<RanksOptions>();
  add_recording_options(*command, options->recording);
  add_sysroot_option(*command, options->recording.sysroot);
  command
      ->add_option("--of", options->of,
                   "Compare functions without (self) or with (total) their callees")
      ->type_name("self|total")
      ->check(CLI::IsMember({"self", "total"}).description(""));
  command->add_option("--top", options->top, "Number of rows (0: all)")->type_name("N");
  add_table_options(*command, options->table);
  add_full_names_option(*command, options->table);
  command->add_flag("--csv", options->csv,
                    "Print each function, span and counter with its value in each worker");
  command->add_flag("--json", options->json, "Print JSON, see docs/ranks-json.md");
  set_examples(*command,
               {"sampan ranks", "sampan ranks --of total merged", "sampan ranks --csv merged"});
  commands.actions[command] = [options] { return ranks(*options); };
}

}  // namespace sampan::cli
