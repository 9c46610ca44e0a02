#include "cli/arguments.h"

#include <fmt/core.h>

#include <algorithm>
#include <sstream>

#include "base/nearest.h"
#include "cli/describe.h"

namespace sampan::cli {
namespace {

// Takes the program and its arguments away from the end of `words`.
std::vector<std::string> take_program(const CLI::App& run, std::vector<std::string>& words) {
  size_t i = 1;
  while (i < words.size() && words[i].starts_with("-") && words[i] != "--") {
    const CLI::Option* option = run.get_option_no_throw(words[i]);
    const bool value_follows = option != nullptr && option->get_expected_min() > 0;
    i += value_follows ? 2 : 1;
  }
  if (i >= words.size()) return {};
  const size_t first = words[i] == "--" ? i + 1 : i;
  std::vector<std::string> program(words.begin() + static_cast<ptrdiff_t>(first), words.end());
  words.resize(i);
  return program;
}

// The same of commands where only "--" begins one.
std::vector<std::string> take_program(std::vector<std::string>& words) {
  const auto dashes = std::find(words.begin(), words.end(), "--");
  if (dashes == words.end()) return {};
  std::vector<std::string> program(dashes + 1, words.end());
  words.erase(dashes, words.end());
  return program;
}

std::vector<std::string> names_of_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> names_of_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_fnames()) names.push_back(name);
  }
  return names;
}

[[noreturn]] void refuse_unexpected(const CLI::App& app, const CLI::App* command) {
  const std::string word = command != nullptr && !command->remaining().empty()
                               ? command->remaining().front()
                               : app.remaining(true).front();
  if (command == nullptr) {
    if (word.starts_with("-")) {
      throw UsageError("unknown option {}{}", word, did_you_mean(word, names_of_options(app)));
    }
    throw UsageError("unknown command {}{}\n(to profile a program: sampan run -- {})", word,
                     did_you_mean(word, names_of_commands(app)), word);
  }
  if (!word.starts_with("-")) {
    throw UsageError("{}: unexpected argument {}", command->get_name(), word);
  }
  const std::string name = word.substr(0, word.find('='));
  throw UsageError("{}: unknown option {}{}", command->get_name(), name,
                   did_you_mean(name, names_of_options(*command)));
}

const CLI::App* chosen_command(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  return parsed.empty() ? nullptr : parsed.front();
}

Action print(std::string text) {
  return [text = std::move(text)] {
    fmt::print("{}", text);
    return 0;
  };
}

}  // namespace

Action parse_arguments(CLI::App& app, Commands& commands, int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  // "sampan help run" is "sampan run --help"; the build asks for the man page and the completions.
  if (words.size() == 2 && words[0] == "help" && words[1] == "--man") return print(man_page(app));
  if (words.size() == 3 && words[0] == "help" && words[1] == "--completion") {
    return print(completion(app, words[2]));
  }
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.push_back("--help");
  }
  if (!words.empty() && (words.front() == "run" || words.front() == "record")) {
    commands.program = take_program(*app.get_subcommand(words.front()), words);
  }
  if (!words.empty() && (words.front() == "serve" || words.front() == "top")) {
    commands.program = take_program(words);
  }
  std::reverse(words.begin(), words.end());  // as CLI11 wants them
  try {
    app.parse(words);
  } catch (const CLI::CallForHelp&) {
    const CLI::App* command = chosen_command(app);
    return print(command != nullptr ? command->help() : app.help());
  } catch (const CLI::ExtrasError&) {
    refuse_unexpected(app, chosen_command(app));
  } catch (const CLI::ParseError& error) {
    const CLI::App* command = chosen_command(app);
    throw UsageError("{}{}", command != nullptr ? command->get_name() + ": " : "", error.what());
  }
  const CLI::App* command = chosen_command(app);
  if (command == nullptr) throw UsageError("no command\n\n{}", app.help());
  return commands.actions.at(command);
}

}  // namespace sampan::cli
