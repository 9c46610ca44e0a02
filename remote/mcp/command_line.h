// The command line of sampan that answers a call of a tool.
//
// The arguments are what a language model has written. They are checked against the tool's parameters. An option and its
// value are one word, so that no value becomes an option.
#pragma once

#include <rapidjson/document.h>

#include <optional>
#include <string>
#include <vector>

#include "remote/mcp/tools.h"

namespace sampan::mcp {

struct CommandLine {
  std::vector<std::string> words;  // after "sampan"
  std::vector<size_t> recordings =
      {};  // which words name recordings, as the model has written them
  std::optional<double> longest_s = {};  // then the command is ended
};

// `arguments`: an object, or null for none. Throws Error with a sentence for the
// model.
CommandLine command_line(const Tool& tool, const rapidjson::Value& arguments);

}  // namespace sampan::mcp
