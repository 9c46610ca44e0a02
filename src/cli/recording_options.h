// What the commands that read a recording have in common: which one, and which part of it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "profile/view.h"

namespace sampan::cli {

struct RecordingOptions {
  std::string recording;  // the file, or the directory of a run
  profile::Selection selection;

  std::string path() const;       // of the file
  std::string directory() const;  // that the file is in
};

void add_recording_options(CLI::App& command, RecordingOptions& options);

}  // namespace sampan::cli
