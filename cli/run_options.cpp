#include "cli/run_options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "base/nearest.h"
#include "cli/command.h"

namespace sampan::cli {
namespace {

const std::vector<std::string> kUsualFormats = {"html", "trace", "pprof"};

std::vector<std::string> format_names() {
  std::vector<std::string> names = {"none"};
  for (const exporters::Format& format : exporters::formats()) names.emplace_back(format.name);
  return names;
}

}  // namespace

void add_run_options(CLI::App& command, RunOptions& options) {
  add_sampling_options(command, options.sampling);
  command.add_option("--output", options.output, "Where each run's directory is made")
      ->envname("SAMPAN_OUTPUT")
      ->type_name("DIR")
      ->capture_default_str();
  command
      .add_option("--format", options.formats,
                  fmt::format("What is written beside the recording: {} (repeatable)",
                              fmt::join(format_names(), ", ")))
      ->envname("SAMPAN_FORMAT")
      ->type_name("FORMAT")
      ->allow_extra_args(false)
      ->delimiter(',');
  command.add_flag("--follow,!--no-follow", options.follow, "Profile its children too")
      ->envname("SAMPAN_FOLLOW");
  command.add_flag("--quiet", options.quiet, "No page at the end")->envname("SAMPAN_QUIET");
  command
      .add_flag("--symbolize,!--no-symbolize", options.symbolize,
                "Write the names of functions into the recording")
      ->envname("SAMPAN_SYMBOLIZE");
  command.add_option("--name", options.name, "Name of the run (default: the program's)")
      ->envname("SAMPAN_NAME")
      ->type_name("NAME");
  command.add_flag("--start-paused", options.start_paused,
                   "No samples until the program or `sampan ctl` asks (SAMPAN_START=paused)");
  command
      .add_flag("--sections-only", options.sections_only,
                "Samples only while the program has a section open")
      ->envname("SAMPAN_SECTIONS_ONLY");
  command
      .add_option("--max-sections", options.max_sections,
                  "A directory each for so many sections, the longest; 0: none")
      ->envname("SAMPAN_MAX_SECTIONS")
      ->type_name("N")
      ->capture_default_str();
  add_continuous_options(command, options.continuous);
  add_push_options(command, options.push);
  add_black_box_option(command, options.continuous);
}

bool starts_paused(const RunOptions& options) {
  const char* variable = std::getenv("SAMPAN_START");
  const std::string start = variable != nullptr ? variable : "";
  if (!start.empty() && start != "paused" && start != "running") {
    throw UsageError("SAMPAN_START is '{}': it may be paused or running", start);
  }
  return options.start_paused || start == "paused";
}

std::vector<const exporters::Format*> chosen_formats(const RunOptions& options) {
  std::vector<const exporters::Format*> chosen;
  const std::vector<std::string> names = format_names();
  for (const std::string& name : options.formats.empty() ? kUsualFormats : options.formats) {
    if (std::ranges::find(names, name) == names.end()) {
      throw UsageError("unknown format '{}'{}", name, did_you_mean(name, names));
    }
    if (name == "none") continue;
    const exporters::Format* format = &exporters::format(name);
    if (std::ranges::find(chosen, format) == chosen.end()) chosen.push_back(format);
  }
  return chosen;
}

}  // namespace sampan::cli
