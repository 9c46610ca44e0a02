#include "cli/table_options.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "cli/command.h"

namespace sampan::cli {
namespace {

constexpr unsigned kWidest = 10'000;
// The exit status of a shell that cannot start a command.
constexpr int kNotExecutable = 126, kNotFound = 127;

// A command of the shell; "": none.
std::string pager_command() {
  for (const char* const variable : {"SAMPAN_PAGER", "PAGER"}) {
    if (const char* const value = std::getenv(variable)) {
      return std::string(value) == "cat" ? "" : value;
    }
  }
  return "exec $(command -v less || echo cat)";
}

// Returns whether the pager could be started.
bool page(const std::string& text, const std::string& command) {
  // Plain text that fits on the screen stays there; colours are shown.
  setenv("LESS", "FRX", 0);
  setenv("LV", "-c", 0);
  FILE* const pager = popen(command.c_str(), "we");
  if (pager == nullptr) return false;
  // Ctrl-C is the pager's, which may also end before it has read everything.
  for (const int number : {SIGINT, SIGQUIT, SIGPIPE}) signal(number, SIG_IGN);
  std::fwrite(text.data(), 1, text.size(), pager);
  const int status = pclose(pager);
  return !WIFEXITED(status) ||
         (WEXITSTATUS(status) != kNotFound && WEXITSTATUS(status) != kNotExecutable);
}

}  // namespace

void add_table_options(CLI::App& command, TableOptions& options) {
  command
      .add_option(
          "--width", options.width,
          "Columns of the output (default: the terminal's; nothing is cut where there is none)")
      ->type_name("N");
  command.add_flag("!--no-pager", options.pager,
                   "Print directly to the terminal, not through SAMPAN_PAGER, PAGER or less");
}

void add_full_names_option(CLI::App& command, TableOptions& options) {
  command
      .add_flag("--full-names", options.full_names,
                "Show template arguments and parameters of functions, however wide they are")
      ->envname("SAMPAN_FULL_NAMES");
}

reports::PageOptions page_options(const TableOptions& options) {
  reports::PageOptions page = reports::page_options_for(stdout);
  if (options.width != 0) {
    if (options.width < reports::kNarrowest || options.width > kWidest) {
      throw UsageError("--width takes a number of columns from {} to {}, not {}",
                       reports::kNarrowest, kWidest, options.width);
    }
    page.width = options.width;
  }
  page.full_names = options.full_names;
  return page;
}

void print_paged(const std::string& text, const TableOptions& options) {
  const std::string command = options.pager && isatty(STDOUT_FILENO) == 1 ? pager_command() : "";
  if (command.empty() || !page(text, command)) fmt::print("{}", text);
}

}  // namespace sampan::cli
