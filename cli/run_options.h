// The options of `run`, which a program that is profiled without the launcher takes from the
// environment. Each option has its variable.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/continuous_options.h"
#include "cli/push_options.h"
#include "cli/sampling_options.h"
#include "exporters/exporter.h"

namespace sampan::cli {

struct RunOptions {
  SamplingOptions sampling;
  std::string output = "sampan-profiles";
  std::vector<std::string> formats;  // empty: not asked for any, see chosen_formats()
  bool follow = true;
  bool quiet = false;
  bool symbolize = true;
  std::string name;
  bool start_paused = false;
  bool sections_only = false;
  size_t max_sections = exporters::kUsualSections;
  ContinuousOptions continuous;
  PushOptions push;
};

// Declares them on `command`, which fills `options` when it is parsed. `options` must outlive it.
void add_run_options(CLI::App& command, RunOptions& options);

// The formats that were asked for, or the usual ones; "none" asks for none. Throws UsageError with
// the nearest name for one that does not exist.
std::vector<const exporters::Format*> chosen_formats(const RunOptions& options);

// --start-paused or SAMPAN_START=paused. Throws UsageError for another value.
bool starts_paused(const RunOptions& options);

}  // namespace sampan::cli
