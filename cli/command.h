// How a command gets into the program: each has a file with an `add_` function, which declares the
// command's options and says what to do when it was asked for. main.cpp parses, then does it.
//
// Errors: an action throws Error for what cannot go on, and UsageError for what the person typed.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"

namespace sampan::cli {

// What was typed makes no sense: exit status 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

// Exit statuses of sampan's own. Those of the profiled command pass through `run`, so `run` says
// 125 for its own failures as env, timeout and nice do.
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitRunFailure = 125;

using Action = std::function<int()>;  // returns the exit status

struct Commands {
  std::map<const CLI::App*, Action> actions;  // by subcommand
  // The words of the command that is to be run, not to be parsed: of `run` those after sampan's own
  // options, of others those after "--".
  std::vector<std::string> program;
};

void add_run(CLI::App& app, Commands& commands);  // run, record
void add_attach(CLI::App& app, Commands& commands);
void add_doctor(CLI::App& app, Commands& commands);
void add_collect(CLI::App& app, Commands& commands);  // hidden: started by the shim
void add_ctl(CLI::App& app, Commands& commands);
void add_dump(CLI::App& app, Commands& commands);
void add_serve(CLI::App& app, Commands& commands);
void add_top(CLI::App& app, Commands& commands);
void add_view(CLI::App& app, Commands& commands);
void add_version(CLI::App& app, Commands& commands);
void add_report(CLI::App& app, Commands& commands);
void add_export(CLI::App& app, Commands& commands);  // export, formats
void add_push(CLI::App& app, Commands& commands);
void add_merge(CLI::App& app, Commands& commands);
void add_diff(CLI::App& app, Commands& commands);
void add_spans(CLI::App& app, Commands& commands);
void add_metrics(CLI::App& app, Commands& commands);
void add_annotate(CLI::App& app, Commands& commands);
void add_addr2line(CLI::App& app, Commands& commands);
void add_symbolize(CLI::App& app, Commands& commands);

}  // namespace sampan::cli
