// From the words on the command line to the action that they ask for.
#pragma once

#include "cli/command.h"

namespace sampan::cli {

// Parses with `app`, to which all commands have been added. For `run` and `record` the words from
// the first one that is no option of theirs are the program's: they become `commands.program`.
// Returns the action; one that prints the help, when that was asked for.
// Throws UsageError, with the nearest right word where a word was wrong.
Action parse_arguments(CLI::App& app, Commands& commands, int argc, char** argv);

}  // namespace sampan::cli
