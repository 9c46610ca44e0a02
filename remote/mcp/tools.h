// The tools that `sampan mcp` offers. Each is a row: what it is for, its parameters, and the command of sampan that
// answers a call, with its parameters as options.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/text/json_writer.h"

namespace sampan::mcp {

enum class Kind {
  kText,
  kName,       // of a function: text that is no option of the command
  kChoice,     // one of the words in `choices`
  kCount,      // a whole number, 1 to a million
  kTime,       // seconds, at most a day
  kFlag,       // a truth value: the option is given or not
  kRecording,  // a directory or file below the server's directory, or "-1" for the latest
  kPid,
  kProgram,  // the words of a command line
};

struct Parameter {
  std::string_view name;
  Kind kind;
  bool is_required;
  std::string_view option;  // "" for a positional argument
  std::string_view about;
  std::string_view choices = {};  // "a|b|c"
};

struct Tool {
  std::string_view name, about;
  std::string_view command;  // its first words, separated by blanks
  std::span<const Parameter> parameters;
  bool looks_into_processes = false;  // or starts one: only with --allow-run
  double longest_s = 0;               // then the command is ended; 0: it may take any time
};

std::span<const Tool> tools();
const Tool* find_tool(std::string_view name);  // nullptr: there is none

// The members of a tool in the answer to tools/list, with a JSON Schema of its arguments.
void describe(const Tool& tool, Json& json);

}  // namespace sampan::mcp
