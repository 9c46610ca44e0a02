// The options of commands that read recordings: which ones, and which part of them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "profile/load.h"
#include "profile/view.h"

namespace sampan::cli {

// The file of a recording that is named by its file or its directory. For a recording of several
// files, their directory.
std::string recording_path(const std::string& recording);

struct ShownOptions {
  profile::Shown shown = profile::Shown::kSamples;
  std::string heap = {};  // as the command line has it
};

struct RecordingOptions {
  std::string recording = "-1";  // the file, or the directory of a run
  std::string sysroot;           // see add_sysroot_option()
  profile::Selection selection;
  profile::PythonFrames python = profile::PythonFrames::kMixed;
  ShownOptions what;

  std::string path() const { return recording_path(recording); }
  std::string directory() const;  // that the file is in
};

// --thread, --process, --label, --state, --from, --to, --section, --trace.
void add_selection_options(CLI::App& command, profile::Selection& selection);
// --python, for commands that show stacks.
void add_python_option(CLI::App& command, profile::PythonFrames& python);
// --heap and --locks, for commands that show stacks.
void add_shown_options(CLI::App& command, ShownOptions& options, profile::Selection& selection);
// --sysroot, for commands that look up names: symbolizer::Options::sysroot.
void add_sysroot_option(CLI::App& command, std::string& sysroot);
// RECORDING. `recording` must outlive `command`; if it is "-1" and nothing is given, it becomes the
// latest.
void add_recording_option(CLI::App& command, std::string& recording);
// RECORDING, --python, and the options of add_selection_options().
void add_recording_options(CLI::App& command, RecordingOptions& options);

// Recordings on a command line, each with a label: "LABEL=PATH", or a path, which is labelled with
// the name of its directory or file. "-1" is the latest (cli/latest_recording.h).
struct LabelledPath {
  std::string label;
  std::string path;       // of the file
  bool is_chosen = true;  // the label is the user's, not that of the directory
};

// Duplicate labels get the suffixes "-2", "-3".
std::vector<LabelledPath> labelled_paths(const std::vector<std::string>& words);

}  // namespace sampan::cli
