// The options of `attach`, and of `record -p`.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "attach/engine.h"
#include "cli/run_options.h"

namespace sampan::cli {

struct AttachOptions {
  RunOptions run;
  std::string target;  // a pid, or a program's name
  std::string engine = "auto";
  double duration_s = 0;  // 0: until it ends, or Ctrl-C
};

// Those that `run` does not have.
void add_attach_options(CLI::App& command, AttachOptions& options);
// Absent: the best that is permitted.
std::optional<attach::EngineKind> chosen_engine(const AttachOptions& options);

// Samples a running process until it ends, the time is over, or somebody stops it. Returns the exit
// status; throws Error.
int attach_and_record(const AttachOptions& options);

}  // namespace sampan::cli
