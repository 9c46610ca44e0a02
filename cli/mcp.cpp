// sampan mcp: the commands as tools for the agent of a language model.
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "cli/command.h"
#include "cli/signals.h"
#include "remote/mcp/server.h"

namespace sampan::cli {
namespace {

struct McpOptions {
  std::string directory = ".";
  bool allow_run = false;
};

int mcp(const McpOptions& options) {
  std::error_code failed;
  std::filesystem::current_path(options.directory, failed);
  if (failed) throw Error("--directory: {}: {}", options.directory, failed.message());
  StopSignals stop;
  std::signal(SIGPIPE, SIG_IGN);  // the agent may go away
  mcp::Server({.version = SAMPAN_VERSION, .allow_run = options.allow_run})
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
