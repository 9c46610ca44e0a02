// sampan symbolize: writes function names into a recording, so that it can be read where the
// binaries and their debug files are missing.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/recorded_profile.h"
#include "cli/recording_options.h"
#include "profile/frames.h"
#include "profile/load.h"
#include "recording/segments.h"

namespace sampan::cli {
namespace {

void symbolize(const std::string& path, const std::string& sysroot) {
  profile::Profile profile = profile::load(read_recording(path));
  const auto is_known = [&](const profile::Location& location) {
    return has_all_names(profile, location);
  };
  const auto before = std::ranges::count_if(profile.locations, is_known);
  const std::vector<profile::JitName> jit_before = profile.jit_names;
  std::vector<std::string> problems;
  problems = find_names(profile, sysroot);
  const auto now = std::ranges::count_if(profile.locations, is_known);
  if (now != before || profile.jit_names != jit_before) record_names(path, profile);
  fmt::print("{} of {} addresses have functions, files and lines, {} of them new\n", now,
             profile.locations.size(), now - before);
  print_without_symbols(problems);
}

// Each segment is a file.
int symbolize_all(const std::string& path, const std::string& sysroot) {
  if (!std::filesystem::is_directory(path)) {
    symbolize(path, sysroot);
  } else {
    for (const std::string& file : recording::segment_files(path)) symbolize(file, sysroot);
  }
  return 0;
}

}  // namespace

void add_symbolize(CLI::App& app, Commands& commands) {
  CLI::App* const command = app.add_subcommand(
      "symbolize", "Write function names into a recording, to read it elsewhere");
  const auto options = std::make_shared<RecordingOptions>();
  add_recording_option(*command, options->recording);
  add_sysroot_option(*command, options->sysroot);
  set_examples(*command, {"sampan symbolize", "sampan symbolize -2",
                          "sampan symbolize --sysroot /srv/debian DIR"});
  commands.actions[command] = [options] {
    return symbolize_all(options->path(), options->sysroot);
  };
}

}  // namespace sampan::cli
