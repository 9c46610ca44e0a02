// What the commands that read a recording have in common: which one, and which part of it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "profile/view.h"

namespace sampan::cli {

// The file of a recording, of which the file or its directory is named; of one of several files
// their directory.
std::string recording_path(const std::string& recording);

struct RecordingOptions {
  std::string recording;  // the file, or the directory of a run
  profile::Selection selection;

  std::string path() const { return recording_path(recording); }
  std::string directory() const;  // that the file is in
};

// --thread, --process, --label, --state, --from, --to, --section.
void add_selection_options(CLI::App& command, profile::Selection& selection);
// --full-names, of commands that show functions in tables.
void add_full_names_option(CLI::App& command, bool& full_names);
// RECORDING, and the same.
void add_recording_options(CLI::App& command, RecordingOptions& options);

}  // namespace sampan::cli
