// The command line as data, taken from what CLI11 was told: what --help prints is also what the man
// page and the completions of shells are made of.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace sampan::cli {

struct OptionText {
  std::vector<std::string> names;  // "--output", "-o"; of a positional its name, "RECORDING"
  std::string value;               // "HZ", "cpu|wall"; "" for a flag
  std::string description;
  std::string variable;  // of the environment, or ""
  bool positional = false;
  bool required = false;
  bool several = false;  // may be given more than once

  // What the value can be: the words of "cpu|wall", the formats of "FORMAT". Empty: anything.
  std::vector<std::string> choices() const;
  bool takes_a_path() const;
};

struct CommandText {
  std::string name;  // "run"
  std::string description;
  std::string usage;  // "sampan run [OPTIONS] -- COMMAND [ARG...]"
  std::vector<OptionText> options = {};
};

// Those that --help shows.
std::vector<CommandText> describe(const CLI::App& app);

// sampan(1), in man(7); checked with mandoc -Tlint.
std::string man_page(const CLI::App& app);
// For "bash", "zsh" or "fish". Throws UsageError for others.
std::string completion(const CLI::App& app, const std::string& shell);

}  // namespace sampan::cli
