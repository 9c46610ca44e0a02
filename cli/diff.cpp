// sampan diff: what changed between two recordings.
#include "profile/diff.h"

#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/recorded_profile.h"
#include "cli/recording_options.h"
#include "cli/table_options.h"
#include "exporters/exporter.h"
#include "profile/diff.h"
#include "profile/load.h"
#include "profile/shown.h"
#include "recording/merge.h"
#include "reports/diff.h"

namespace sampan::cli {
namespace {

struct DiffArguments {
  std::string a = "-2", b = "-1";
  profile::Selection selection;
  profile::PythonFrames python = profile::PythonFrames::kMixed;
  ShownOptions what;
  std::string sysroot;
  std::string by = "time";
  std::string of = "self";
  double confidence = 99;
  unsigned top = 20;
  bool json = false;
  TableOptions table;
  std::string html;
};

profile::DiffOptions options_of(const DiffArguments& arguments) {
  profile::DiffOptions options;
  if (arguments.by == "samples") options.by = profile::DiffOptions::By::kSamples;
  if (arguments.of == "total") options.of = profile::DiffOptions::Of::kTotal;
  if (!(arguments.confidence >= 50 && arguments.confidence <= 99.9999)) {
    throw UsageError("--confidence takes a percentage from 50 to 99.9999, not {}",
                     arguments.confidence);
  }
  options.confidence = arguments.confidence / 100;
  return options;
}

bool has_waits(const recording::MergeInput& input) {
  return input.recording.session.clock == "wall";
}

int compare(DiffArguments arguments) {
  const profile::DiffOptions diff_options = options_of(arguments);
  const std::vector<LabelledPath> paths = labelled_paths({arguments.a, arguments.b});
  recording::MergeInput a{paths[0].label, read_recording(paths[0].path)};
  recording::MergeInput b{paths[1].label, read_recording(paths[1].path)};
  std::vector<std::string> notes;
  if (arguments.what.shown == profile::Shown::kSamples && has_waits(a) != has_waits(b) &&
      arguments.selection.state != profile::State::kCpu) {
    arguments.selection.state = profile::State::kCpu;
    notes.push_back("only one of the recordings has waiting samples: CPU is compared");
  }
  profile::Profile profile = profile::load_sides(std::move(a), std::move(b), arguments.python);
  show(arguments.what.shown, &profile);
  for (const std::string& problem : find_names(profile, arguments.sysroot)) {
    notes.push_back("no symbols: " + problem);
  }
  profile::match_functions(profile);
  const profile::View view = profile::select(profile, arguments.selection);
  const profile::Diff diff = profile::diff(view, diff_options);

  if (!arguments.html.empty()) {
    const exporters::Format& page = exporters::format("html");
    for (const std::string& note : page.write(view, arguments.html, page.max_size).notes) {
      notes.push_back(arguments.html + ": " + note);
    }
  }
  reports::PageOptions text_page = page_options(arguments.table);
  text_page.top = arguments.top;
  text_page.notes = notes;
  print_paged(arguments.json ? reports::diff_json(view, diff, notes)
                             : reports::diff_page(view, diff, text_page),
              arguments.table);
  return 0;
}

}  // namespace

void add_diff(CLI::App& app, Commands& commands) {
  CLI::App* const command =
      app.add_subcommand("diff", "Show what changed between two recordings, beyond noise");
  const auto arguments = std::make_shared<DiffArguments>();
  command->add_option("A", arguments->a,
                      "A recording.sampan or its directory; NAME=A names it (default: -2, the one "
                      "before the latest below sampan-profiles)");
  command->add_option("B", arguments->b, "The recording to compare with (default: -1, the latest)");
  add_selection_options(*command, arguments->selection);
  add_python_option(*command, arguments->python);
  add_shown_options(*command, arguments->what, arguments->selection);
  add_sysroot_option(*command, arguments->sysroot);
  command->add_option("--by", arguments->by, "Compare shares of time or of samples")
      ->type_name("time|samples")
      ->check(CLI::IsMember({"time", "samples"}).description(""));
  command
      ->add_option("--of", arguments->of,
                   "Compare functions without (self) or with (total) their callees")
      ->type_name("self|total")
      ->check(CLI::IsMember({"self", "total"}).description(""));
  command
      ->add_option("--confidence", arguments->confidence,
                   "Confidence in percent that only real changes are ranked")
      ->type_name("PERCENT")
      ->capture_default_str();
  command->add_option("--top", arguments->top, "Number of rows (0: all)")->type_name("N");
  add_table_options(*command, arguments->table);
  add_full_names_option(*command, arguments->table);
  command->add_flag("--json", arguments->json, "Print JSON, see docs/diff-json.md");
  command->add_option("--html", arguments->html, "Write a page with both sides, in red and blue")
      ->type_name("FILE");
  set_examples(*command, {"sampan diff", "sampan diff --of total BEFORE AFTER",
                          "sampan diff --html diff.html -2 -1"});
  commands.actions[command] = [arguments] { return compare(*arguments); };
}

}  // namespace sampan::cli
