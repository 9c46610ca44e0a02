#include "cli/run_options.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/nearest.h"
#include "cli/command.h"

namespace sampan::cli {
namespace {

constexpr unsigned kHighestRate = 10000;

std::vector<std::string> format_names() {
  std::vector<std::string> names = {"none"};
  for (const exporters::Format& format : exporters::formats()) names.emplace_back(format.name);
  return names;
}

}  // namespace

void add_run_options(CLI::App& command, RunOptions& options) {
  command.add_option("--rate", options.rate_hz, "Samples per second of CPU of each thread")
      ->envname("SAMPAN_RATE")
      ->type_name("HZ")
      ->capture_default_str()
      ->check(CLI::Range(1u, kHighestRate).description(""));
  command
      .add_option("--clock", options.clock, "What is sampled: threads on CPU, or waiting ones too")
      ->envname("SAMPAN_CLOCK")
      ->type_name("cpu|wall")
      ->check(CLI::IsMember({"cpu", "wall"}).description(""));
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
  command.add_option("--name", options.name, "Name of the run (default: the program's)")
      ->envname("SAMPAN_NAME")
      ->type_name("NAME");
}

std::vector<const exporters::Format*> chosen_formats(const RunOptions& options) {
  std::vector<const exporters::Format*> chosen;
  const std::vector<std::string> names = format_names();
  for (const std::string& name : options.formats) {
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
