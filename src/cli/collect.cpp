#include "cli/command.h"

namespace sampan::cli {

void add_collect(CLI::App& app, Commands& commands) {
  commands.actions[app.add_subcommand("collect")] = [] { return 0; };
}

}  // namespace sampan::cli
