#include "cli/command.h"

namespace sampan::cli {

void add_run(CLI::App& app, Commands& commands) {
  commands.actions[app.add_subcommand("run")] = [] { return 0; };
}

}  // namespace sampan::cli
