// The interface of commands: each has a file with an `add_` function that declares the command's
// options and its action. main.cpp parses the command line and runs the action.
//
// Errors: an action throws Error for failures, and UsageError for a wrong command line.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"

namespace sampan::cli {

// The command line is wrong: exit status 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

// Exit statuses of sampan itself. `run` returns the status of the profiled command, so it uses 125
// for its own failures, as env, timeout and nice do.
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitRunFailure = 125;

using Action = std::function<int()>;  // returns the exit status

struct Commands {
  std::map<const CLI::App*, Action> actions;  // by subcommand
  // The words of the program to start: for `run` those after sampan's own options, for other
  // commands those after "--".
  std::vector<std::string> program;
};

// The end of --help, which the man page has as well: three examples to paste. `before` stands above
// them; if it begins with "sampan ", it is the usage.
void set_examples(CLI::App& command, const std::vector<std::string>& examples,
                  const std::string& before = "");

void add_run(CLI::App& app, Commands& commands);  // run, record
void add_attach(CLI::App& app, Commands& commands);
void add_doctor(CLI::App& app, Commands& commands);
void add_collect(CLI::App& app, Commands& commands);   // hidden: started by the shim
void add_recorder(CLI::App& app, Commands& commands);  // hidden: started by top, serve
void add_ctl(CLI::App& app, Commands& commands);
void add_dump(CLI::App& app, Commands& commands);
void add_serve(CLI::App& app, Commands& commands);
void add_top(CLI::App& app, Commands& commands);
void add_view(CLI::App& app, Commands& commands);
void add_version(CLI::App& app, Commands& commands);
void add_report(CLI::App& app, Commands& commands);
void add_export(CLI::App& app, Commands& commands);  // export, formats
void add_list(CLI::App& app, Commands& commands);
void add_mcp(CLI::App& app, Commands& commands);
void add_push(CLI::App& app, Commands& commands);
void add_merge(CLI::App& app, Commands& commands);
void add_import(CLI::App& app, Commands& commands);
void add_diff(CLI::App& app, Commands& commands);
void add_spans(CLI::App& app, Commands& commands);
void add_metrics(CLI::App& app, Commands& commands);
void add_annotate(CLI::App& app, Commands& commands);
void add_query(CLI::App& app, Commands& commands);
void add_ci(CLI::App& app, Commands& commands);
void add_ranks(CLI::App& app, Commands& commands);
void add_addr2line(CLI::App& app, Commands& commands);
void add_symbolize(CLI::App& app, Commands& commands);

// For `view` and `top`: opens a file or a URL in the user's web browser, if there is a display. The
// browser outlives this process. Returns why it could not be started; "" otherwise, also without a
// display.
std::string open_in_browser(const std::string& address);

}  // namespace sampan::cli
