#include <fmt/core.h>

#include "cli/command.h"

namespace sampan::cli {

void add_version(CLI::App& app, Commands& commands) {
  CLI::App* version = app.add_subcommand("version", "Say which sampan this is");
  commands.actions[version] = [] {
    fmt::print("sampan {}\n", SAMPAN_VERSION);
    return 0;
  };
}

}  // namespace sampan::cli
