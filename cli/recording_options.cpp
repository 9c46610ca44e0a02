#include "cli/recording_options.h"

#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "base/time.h"
#include "cli/command.h"
#include "cli/latest_recording.h"
#include "cli/values.h"
#include "recording/segments.h"

namespace sampan::cli {
namespace {

namespace fs = std::filesystem;

// Most files are called "recording.sampan", so their directory gives the label.
std::string usual_label(const fs::path& file) {
  if (file.filename() != "recording.sampan" && file.filename() != recording::kSegmentsDirectory) {
    return file.stem();
  }
  const fs::path directory = fs::absolute(file).lexically_normal().parent_path();
  return directory.filename();
}

LabelledPath labelled(const std::string& word) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0 || fs::exists(word)) {
    const std::string path = recording_path(named_recording(word));
    return {usual_label(path), path, false};
  }
  return {word.substr(0, equals), recording_path(named_recording(word.substr(equals + 1))), true};
}

const std::map<std::string, profile::State> kStates = {{"cpu", profile::State::kCpu},
                                                       {"waiting", profile::State::kWaiting},
                                                       {"all", profile::State::kAll}};

const std::map<std::string, profile::HeapPart> kHeapParts = {
    {"live", profile::HeapPart::kLive}, {"allocated", profile::HeapPart::kAllocated}};

const std::map<std::string, profile::PythonFrames> kPythonFrames = {
    {"native", profile::PythonFrames::kNative},
    {"python", profile::PythonFrames::kPython},
    {"mixed", profile::PythonFrames::kMixed}};

}  // namespace

std::vector<LabelledPath> labelled_paths(const std::vector<std::string>& words) {
  std::vector<LabelledPath> paths;
  std::set<std::string> labels;
  for (const std::string& word : words) {
    LabelledPath& path = paths.emplace_back(labelled(word));
    const std::string label = path.label;
    for (int i = 2; !labels.insert(path.label).second; ++i) {
      path.label = label + "-" + std::to_string(i);
    }
  }
  return paths;
}

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
      .add_option("-t,--thread", selection.threads,
                  "Only threads with this name or tid (repeatable)")
      ->type_name("NAME|TID")
      ->allow_extra_args(false);
  command.add_option("--process", selection.process, "Only the process with this pid")
      ->type_name("PID");
  command
      .add_option("--label", selection.labels,
                  "In a merged recording: only what the one with this label had (repeatable)")
      ->type_name("LABEL")
      ->allow_extra_args(false);
  command
      .add_option_function<std::string>(
          "--state", [&selection](const std::string& word) { selection.state = kStates.at(word); },
          "Only samples on CPU, only waiting ones, or all")
      ->envname("SAMPAN_STATE")
      ->type_name("cpu|waiting|all")
      ->check(CLI::IsMember({"cpu", "waiting", "all"}).description(""));
  const auto add_bound = [&command](const char* name, std::optional<double>& bound_s,
                                    const char* description) {
    add_time_option(command, name, description,
                    [&bound_s](uint64_t ns) { bound_s = in_seconds(ns); }, {.least_ns = 0});
  };
  add_bound("--from", selection.from_s,
            "Only what happened later than this after the start, such as 10s or 2m");
  add_bound("--to", selection.to_s, "Only what happened earlier than this after the start");
  command
      .add_option("--section", selection.section,
                  "Only what threads did inside the section with this name")
      ->type_name("NAME");
  command
      .add_option(
          "--trace", selection.trace,
          "Only samples of the request across services with this trace id, or the begin of it")
      ->type_name("ID");
}

void add_python_option(CLI::App& command, profile::PythonFrames& python) {
  command
      .add_option_function<std::string>(
          "--python", [&python](const std::string& word) { python = kPythonFrames.at(word); },
          "Stacks of Python threads: native: their C functions; python: their Python functions, "
          "with the time of the C that these call; mixed: both")
      ->envname("SAMPAN_PYTHON_FRAMES")
      ->type_name("native|python|mixed")
      ->check(CLI::IsMember({"native", "python", "mixed"}).description(""));
}

void add_shown_options(CLI::App& command, ShownOptions& options, profile::Selection& selection) {
  CLI::Option* const heap =
      command
          .add_flag("--heap{live}", options.heap,
                    "The heap instead of the time: live: bytes that live at the end, or at --to; "
                    "allocated: all that were allocated")
          ->type_name("live|allocated")
          ->check(CLI::IsMember({"live", "allocated"}).description(""))
          ->each([&options, &selection](const std::string& part) {
            options.shown = profile::Shown::kHeap;
            selection.heap = kHeapParts.at(part);
          });
  CLI::Option* const locks = command.add_flag_callback(
      "--locks", [&options] { options.shown = profile::Shown::kLocks; },
      "Waits for locks instead of the time");
  heap->excludes(locks);
}

void add_sysroot_option(CLI::App& command, std::string& sysroot) {
  command
      .add_option_function<std::string>(
          "--sysroot",
          [&sysroot](const std::string& directory) {
            if (!fs::is_directory(directory)) {
              throw Error("--sysroot {}: must be a directory, the root of a file system",
                          directory);
            }
            sysroot = fs::absolute(directory);
          },
          "Look for the program and its libraries below DIR first: the root of the container or "
          "the system that it ran in")
      ->envname("SAMPAN_SYSROOT")
      ->type_name("DIR");
}

void add_recording_option(CLI::App& command, std::string& recording) {
  command.add_option("RECORDING", recording,
                     "A recording.sampan, or its directory (default: -1, the latest below "
                     "sampan-profiles; -2: the one before)");
  command.callback([&recording] { recording = named_recording(recording); });
}

void add_recording_options(CLI::App& command, RecordingOptions& options) {
  add_recording_option(command, options.recording);
  add_selection_options(command, options.selection);
  add_python_option(command, options.python);
}

}  // namespace sampan::cli
