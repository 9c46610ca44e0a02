#include "cli/recording_options.h"

#include <filesystem>
#include <map>

#include "recording/segment_files.h"

namespace sampan::cli {
namespace {

const std::map<std::string, profile::State> kStates = {{"cpu", profile::State::kCpu},
                                                       {"waiting", profile::State::kWaiting},
                                                       {"all", profile::State::kAll}};

}  // namespace

std::string recording_path(const std::string& recording) {
  namespace fs = std::filesystem;
  const fs::path path(recording);
  if (!fs::is_directory(path)) return path;
  const fs::path file = path / "recording.sampan", segments = path / recording::kSegmentsDirectory;
  if (fs::exists(file)) return file;
  if (fs::is_directory(segments)) return segments;
  return recording::segment_files(path).empty() ? file : path;
}

std::string RecordingOptions::directory() const {
  const std::filesystem::path directory = std::filesystem::path(path()).parent_path();
  return directory.empty() ? "." : directory;
}

void add_selection_options(CLI::App& command, profile::Selection& selection) {
  command
      .add_option("--thread", selection.threads, "Only threads of this name or tid (repeatable)")
      ->type_name("NAME|TID")
      ->allow_extra_args(false);
  command.add_option("--process", selection.process, "Only the process with this pid")
      ->type_name("PID");
  command
      .add_option("--label", selection.labels,
                  "Of a merged recording: only what is from the one with this label (repeatable)")
      ->type_name("LABEL")
      ->allow_extra_args(false);
  command
      .add_option_function<std::string>(
          "--state", [&selection](const std::string& word) { selection.state = kStates.at(word); },
          "Only samples on CPU, only waiting ones, or all")
      ->envname("SAMPAN_STATE")
      ->type_name("cpu|waiting|all")
      ->check(CLI::IsMember({"cpu", "waiting", "all"}).description(""));
  command.add_option("--from", selection.from_s, "Only what is after this second")->type_name("S");
  command.add_option("--to", selection.to_s, "Only what is before this second")->type_name("S");
  command
      .add_option("--section", selection.section,
                  "Only what threads did inside the section that the program called so")
      ->type_name("NAME");
}

void add_full_names_option(CLI::App& command, bool& full_names) {
  command
      .add_flag("--full-names", full_names,
                "Functions with template arguments and parameters, however wide that is")
      ->envname("SAMPAN_FULL_NAMES");
}

void add_recording_options(CLI::App& command, RecordingOptions& options) {
  command.add_option("RECORDING", options.recording, "A recording.sampan, or its directory")
      ->required();
  add_selection_options(command, options.selection);
}

}  // namespace sampan::cli
