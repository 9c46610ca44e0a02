// The command line as data, from CLI11's declarations. The man page and the shell completions are
// made from the same text as --help.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

namespace sampan::cli {

struct OptionText {
  std::vector<std::string> names;  // "--output", "-o"; for a positional its name, "RECORDING"
  std::string value;               // "HZ", "cpu|wall"; "" for a flag
  std::string description;
  std::string variable;  // environment variable, or ""
  bool positional = false;
  bool required = false;
  bool several = false;  // may be given more than once

  // The possible values: the words of "cpu|wall", the formats for "FORMAT". Empty: any value.
  std::vector<std::string> choices() const;
  bool takes_a_path() const;
};

struct CommandText {
  std::string name;  // "run"
  std::string description;
  std::string usage;  // "sampan run [OPTIONS] -- COMMAND [ARG...]"
  std::vector<OptionText> options = {};
  std::vector<std::string> examples = {};  // lines to paste
};

// The commands and options that --help shows.
std::vector<CommandText> describe(const CLI::App& app);

// Writes --help.
std::shared_ptr<CLI::FormatterBase> help_text();
// sampan(1) in man(7) format; checked with mandoc -Tlint.
std::string man_page(const CLI::App& app);
// `shell`: "bash", "zsh" or "fish". Throws UsageError for others.
std::string completion(const CLI::App& app, const std::string& shell);

}  // namespace sampan::cli
