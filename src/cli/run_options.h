// The options of `run`, which a program that is profiled without the launcher takes from the
// environment. Each option has its variable.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "exporters/exporter.h"

namespace sampan::cli {

struct RunOptions {
  unsigned rate_hz = 250;
  std::string clock = "cpu";  // or "wall"
  std::string output = "sampan-profiles";
  std::vector<std::string> formats = {"html", "trace", "pprof"};
  bool follow = true;
  bool quiet = false;
  std::string name;
};

// Declares them on `command`, which fills `options` when it is parsed. `options` must outlive it.
void add_run_options(CLI::App& command, RunOptions& options);

// The formats that were asked for; "none" asks for none. Throws UsageError with the nearest name
// for one that does not exist.
std::vector<const exporters::Format*> chosen_formats(const RunOptions& options);

}  // namespace sampan::cli
