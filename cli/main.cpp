// sampan: a sampling profiler for programs on Linux, native and Python.
#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/nearest.h"
#include "base/say.h"
#include "base/time_namespace.h"
#include "cli/command.h"
#include "cli/manual.h"
#include "cli/standard_streams.h"
#include "cli/version_text.h"

namespace sampan::cli {
namespace {

struct CommandFile {
  void (*add)(CLI::App&, Commands&);
  std::vector<std::string_view> names;
};

const CommandFile kCommandFiles[] = {
    {add_run, {"run", "record"}},   {add_attach, {"attach"}},
    {add_doctor, {"doctor"}},       {add_collect, {"collect"}},
    {add_recorder, {"recorder"}},   {add_ctl, {"ctl"}},
    {add_dump, {"dump"}},           {add_top, {"top"}},
    {add_report, {"report"}},       {add_export, {"export", "formats"}},
    {add_merge, {"merge"}},         {add_diff, {"diff"}},
    {add_spans, {"spans"}},         {add_metrics, {"metrics"}},
    {add_annotate, {"annotate"}},   {add_symbolize, {"symbolize"}},
    {add_addr2line, {"addr2line"}}, {add_view, {"view"}},
    {add_serve, {"serve"}},         {add_push, {"push"}},
    {add_list, {"list"}},           {add_mcp, {"mcp"}},
    {add_query, {"query"}},         {add_ci, {"ci"}},
    {add_ranks, {"ranks"}},         {add_import, {"import"}},
    {add_version, {"version"}},
};

// Declares the command that the first word names, else all: declaring all takes longer than many
// commands run.
void declare_commands(CLI::App& app, Commands& commands, std::string_view first_word) {
  const auto named = std::ranges::find_if(kCommandFiles, [&](const CommandFile& file) {
    return std::ranges::find(file.names, first_word) != file.names.end();
  });
  if (named != std::end(kCommandFiles)) return named->add(app, commands);
  for (const CommandFile& file : kCommandFiles) file.add(app, commands);
}

// Whether the value of an option is the next word: "-F 99", "-gF 99"; neither "-F99" nor "--rate=99".
bool value_follows(const CLI::App& command, const std::string& word) {
  const auto takes_value = [&](const std::string& name) {
    const CLI::Option* option = command.get_option_no_throw(name);
    return option != nullptr && option->get_expected_min() > 0;
  };
  if (word.starts_with("--")) return takes_value(word);
  const auto taking = std::find_if(word.begin() + 1, word.end(), [&](char letter) {
    return takes_value({'-', letter});
  });
  return taking != word.end() && taking + 1 == word.end();
}

// Removes the program and its arguments from the end of `words`, and returns them.
std::vector<std::string> take_program(const CLI::App& run, std::vector<std::string>& words) {
  size_t i = 1;
  while (i < words.size() && words[i].starts_with("-") && words[i] != "--") {
    i += value_follows(run, words[i]) ? 2 : 1;
  }
  if (i >= words.size()) return {};
  const size_t first = words[i] == "--" ? i + 1 : i;
  std::vector<std::string> program(words.begin() + static_cast<ptrdiff_t>(first), words.end());
  words.resize(i);
  return program;
}

// The same for commands where only "--" starts the program.
std::vector<std::string> take_program(std::vector<std::string>& words) {
  const auto dashes = std::find(words.begin(), words.end(), "--");
  if (dashes == words.end()) return {};
  std::vector<std::string> program(dashes + 1, words.end());
  words.erase(dashes, words.end());
  return program;
}

// Also one that is hidden.
bool has_command(const CLI::App& app, const std::string& word) {
  return std::ranges::any_of(app.get_subcommands({}),
                             [&](const CLI::App* command) { return command->get_name() == word; });
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

// Commands of perf and samply that have another name here.
const std::map<std::string_view, std::string_view> kForeignCommands = {
    {"script", "sampan export -f perf-script -o -"}, {"load", "sampan view"}};

[[noreturn]] void refuse_command(const CLI::App& app, const std::string& word) {
  if (const auto here = kForeignCommands.find(word); here != kForeignCommands.end()) {
    throw UsageError("unknown command {}: here it is {}", word, here->second);
  }
  throw UsageError("unknown command {}{}\n(to profile a program: sampan run -- {})", word,
                   did_you_mean(word, names_of_commands(app)), word);
}

[[noreturn]] void refuse_unexpected(const CLI::App& app, const CLI::App* command) {
  const std::string word = command != nullptr && !command->remaining().empty()
                               ? command->remaining().front()
                               : app.remaining(true).front();
  if (command == nullptr) {
    if (!word.starts_with("-")) refuse_command(app, word);
    throw UsageError("unknown option {}{}", word, did_you_mean(word, names_of_options(app)));
  }
  if (!word.starts_with("-")) {
    throw UsageError("{}: unexpected argument {}", command->get_name(), word);
  }
  const std::string name = word.substr(0, word.find('='));
  throw UsageError("{}: unknown option {}{}", command->get_name(), name,
                   did_you_mean(name, names_of_options(*command)));
}

// The commands that one needs first, for somebody who typed none.
std::string first_commands(const CLI::App& app) {
  std::string text;
  for (const char* name : {"run", "attach", "top", "report", "view"}) {
    text += fmt::format("  sampan {:<7} {}\n", name, app.get_subcommand(name)->get_description());
  }
  return text + "\nsampan help shows all commands, sampan help COMMAND the options of one";
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

// Parses the command line with `app`, which has the declared commands. For `run` and `record`,
// commands.program gets the words from the first one that is not an option of theirs. Returns the
// action, which prints the help if that was requested. Throws UsageError, with the nearest valid
// word if a word was wrong.
Action parse_arguments(CLI::App& app, Commands& commands, int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  // "sampan help run" is "sampan run --help". The build uses --man and --completion.
  if (words.size() == 2 && words[0] == "help" && words[1] == "--man") return print(man_page(app));
  if (words.size() == 3 && words[0] == "help" && words[1] == "--completion") {
    return print(completion(app, words[2]));
  }
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.push_back("--help");
  }
  if (!words.empty() && !words.front().starts_with("-") && !has_command(app, words.front())) {
    refuse_command(app, words.front());
  }
  if (!words.empty() && (words.front() == "run" || words.front() == "record")) {
    commands.program = take_program(*app.get_subcommand(words.front()), words);
  }
  constexpr std::string_view kStartPrograms[] = {"serve", "top", "doctor", "ci"};
  if (!words.empty() &&
      std::ranges::find(kStartPrograms, words.front()) != std::end(kStartPrograms)) {
    commands.program = take_program(words);
  }
  std::reverse(words.begin(), words.end());  // CLI11 expects the reverse order
  try {
    app.parse(words);
  } catch (const CLI::CallForHelp&) {
    const CLI::App* command = chosen_command(app);
    return print(command != nullptr ? command->help() : app.help());
  } catch (const CLI::CallForVersion& version) {
    return print(version.what());
  } catch (const CLI::ExtrasError&) {
    refuse_unexpected(app, chosen_command(app));
  } catch (const CLI::ParseError& error) {
    const CLI::App* command = chosen_command(app);
    throw UsageError("{}{}", command != nullptr ? command->get_name() + ": " : "", error.what());
  }
  const CLI::App* command = chosen_command(app);
  if (command == nullptr) throw UsageError("no command given\n\n{}", first_commands(app));
  return commands.actions.at(command);
}

int run(int argc, char** argv) {
  CLI::App app("A sampling profiler for programs on Linux, native and Python", "sampan");
  app.formatter(help_text());
  app.footer("The options of a command, and examples: sampan help COMMAND");
  app.set_version_flag("-V,--version", version_text(), "Print the version of sampan");
  Commands commands;
  declare_commands(app, commands, argc > 1 ? argv[1] : "");
  const int status = parse_arguments(app, commands, argc, argv)();
  // The status of a program that was run is its own.
  if (status != 0 || !commands.program.empty()) return status;
  return stdout_arrived() ? 0 : kExitFailure;
}

}  // namespace

void add_version(CLI::App& app, Commands& commands) {
  CLI::App* const version = app.add_subcommand("version", "Print the version of sampan");
  set_examples(*version, {"sampan version", "sampan --version", "sampan -V"});
  commands.actions[version] = [] {
    fmt::print("{}", version_text());
    return 0;
  };
}

}  // namespace sampan::cli

int main(int argc, char** argv) {
  using sampan::say;
  sampan::clocks_by_system_call.store(true);
  sampan::follow_time_namespace();
  sampan::cli::keep_closed_streams_free();
  try {
    return sampan::cli::run(argc, argv);
  } catch (const sampan::cli::UsageError& error) {
    say("sampan: {}\n", error.what());
    return sampan::cli::kExitUsage;
  } catch (const std::exception& error) {
    say("sampan: {}\n", error.what());
    return sampan::cli::kExitFailure;
  }
}
