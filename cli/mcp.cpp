// sampan mcp: the commands as tools for the agent of a language model.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "cli/command.h"
#include "cli/latest_recording.h"
#include "cli/recording_options.h"
#include "cli/signals.h"
#include "recording/segments.h"
#include "remote/mcp/server.h"

namespace sampan::cli {
namespace {

namespace fs = std::filesystem;

// Links are followed. What does not exist is not below it.
bool is_below_current_directory(const fs::path& path) {
  std::error_code failed;
  const fs::path real = fs::canonical(path, failed), here = fs::current_path(failed);
  return !failed &&
         std::mismatch(here.begin(), here.end(), real.begin(), real.end()).first == here.end();
}

std::vector<std::string> files_of(const std::string& recording) {
  const std::string path = recording_path(recording);
  std::vector<std::string> files = recording::segment_files(path);
  if (files.empty()) files.push_back(path);
  return files;
}

// For ServerOptions::find_recording. The path is neither an option of a command line nor a pid.
std::string recording_for_agent(const std::string& word) {
  try {
    const std::string found = find_recording(word);
    if (std::ranges::all_of(files_of(found), is_below_current_directory)) {
      return fs::path(found).is_absolute() ? found : "./" + found;
    }
  } catch (const fs::filesystem_error&) {
    // A path that is too long, or that may not be read.
  }
  throw Error("{} is not in the directory of this server: `list` shows the recordings",
              word.empty() ? "''" : word);
}

struct McpOptions {
  std::string directory = ".";
  bool allow_run = false;
};

int mcp(const McpOptions& options) {
  std::error_code failed;
  fs::current_path(options.directory, failed);
  if (failed) throw Error("--directory: {}: {}", options.directory, failed.message());
  unsetenv("SAMPAN_OUTPUT");  // would move what an agent records out of the directory
  StopSignals stop;
  std::signal(SIGPIPE, SIG_IGN);  // the agent may go away
  mcp::Server({.version = SAMPAN_VERSION,
               .allow_run = options.allow_run,
               .find_recording = recording_for_agent})
      .serve(STDIN_FILENO, STDOUT_FILENO, stop.fd());
  stop.take();
  return 0;
}

}  // namespace

void add_mcp(CLI::App& app, Commands& commands) {
  CLI::App* const command = app.add_subcommand("mcp",
                                               "Answer the questions of an agent about recordings, "
                                               "on stdin and stdout (Model Context Protocol)");
  const auto options = std::make_shared<McpOptions>();
  command
      ->add_option("--directory", options->directory,
                   "Recordings and sources of this directory may be read, and of no other "
                   "(default: the current one)")
      ->type_name("DIR");
  command->add_flag("--allow-run", options->allow_run,
                    "The agent may also start programs, record and dump processes");
  set_examples(*command, {"sampan mcp", "sampan mcp --directory /srv/app",
                          "sampan mcp --directory /srv/app --allow-run"});
  commands.actions[command] = [options] { return mcp(*options); };
}

}  // namespace sampan::cli
