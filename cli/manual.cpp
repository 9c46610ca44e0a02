#include <fmt/core.h>

#include <map>

#include "cli/command.h"
#include "cli/describe.h"

namespace sampan::cli {
namespace {

// What roff would take for something of its own is escaped.
std::string roff(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
  }
  if (result.starts_with(".") || result.starts_with("'")) result.insert(0, "\\&");
  return result;
}

std::string section(const std::string& name) {
  return ".SH " + name + "\n";
}

std::string paragraph(const std::string& tag, const std::string& text) {
  return fmt::format(".TP\n{}\n{}\n", tag, roff(text));
}

std::string option_tag(const OptionText& option) {
  std::string names;
  for (const std::string& name : option.names) {
    if (!names.empty()) names += ", ";
    names += (option.positional ? "\\fI" : "\\fB") + roff(name) + "\\fR";
  }
  return option.value.empty() ? names : names + " \\fI" + roff(option.value) + "\\fR";
}

std::string commands_section(const std::vector<CommandText>& commands) {
  std::string text = section("COMMANDS");
  for (const CommandText& command : commands) {
    text += fmt::format(".SS \"{}\"\n{}.\n", roff(command.usage), roff(command.description));
    for (const OptionText& option : command.options) {
      if (option.names.back() == "--help") continue;
      text += paragraph(option_tag(option), option.description + ".");
    }
  }
  return text;
}

// Each variable once, with the option that it stands for.
std::string environment_section(const std::vector<CommandText>& commands) {
  std::map<std::string, std::pair<std::string, std::string>> variables;
  for (const CommandText& command : commands) {
    for (const OptionText& option : command.options) {
      if (option.variable.empty()) continue;
      auto& [option_name, names] = variables[option.variable];
      option_name =
          option.names.back().starts_with("--no-") ? option.names.front() : option.names.back();
      names += (names.empty() ? "" : ", ") + command.name;
    }
  }
  std::string text = section("ENVIRONMENT");
  for (const auto& [variable, of] : variables) {
    text += paragraph("\\fB" + roff(variable) + "\\fR", of.first + " of " + of.second + ".");
  }
  text += paragraph("\\fBSAMPAN\\fR",
                    "With LD_PRELOAD=/path/to/libsampan_preload.so and SAMPAN=1 a program is "
                    "profiled without the launcher.");
  return text + paragraph("\\fBNO_COLOR\\fR", "No colours in the terminal.");
}

std::string exit_status_section() {
  return section("EXIT STATUS") +
         "Of run: the program's own, or death by the same signal; 127 when the program was not "
         "found, 126 when it could not be executed, " +
         std::to_string(kExitRunFailure) + " when sampan itself failed before it. Elsewhere " +
         std::to_string(kExitFailure) + " for failures and " + std::to_string(kExitUsage) +
         " for what was typed wrongly.\n";
}

std::string examples_section() {
  const std::pair<std::string, std::string> examples[] = {
      {"sampan run -- xz -k big.tar", "Profile a program."},
      {"sampan attach PID --duration 10", "Profile ten seconds of a process that runs already."},
      {"sampan report DIRECTORY --tree", "The call tree of a run."},
      {"sampan export --format pprof DIRECTORY", "A run in a format of another viewer."},
      {"sampan diff BEFORE AFTER", "What changed between two runs, beyond noise."},
      {"sampan annotate main DIRECTORY", "The lines of a function, and the time spent on each."}};
  std::string text = section("EXAMPLES");
  for (const auto& [command, what] : examples)
    text += paragraph("\\fB" + roff(command) + "\\fR", what);
  return text;
}

}  // namespace

std::string man_page(const CLI::App& app) {
  const std::vector<CommandText> commands = describe(app);
  std::string text = fmt::format(".TH SAMPAN 1 \"\" \"sampan {}\"\n", SAMPAN_VERSION);
  text += section("NAME") + "sampan \\- a sampling profiler for native programs\n";
  text += section("SYNOPSIS");
  for (const CommandText& command : commands) {
    if (&command != &commands.front()) text += ".br\n";
    text += "\\fB" + roff(command.usage) + "\\fR\n";
  }
  text += section("DESCRIPTION") +
          "sampan profiles native Linux programs as they are, neither recompiled nor relinked, and "
          "says where each of their threads spent its CPU, or waited. A run leaves a recording and "
          "files for the usual viewers in sampan\\-profiles/.\n";
  return text + commands_section(commands) + environment_section(commands) + exit_status_section() +
         examples_section();
}

}  // namespace sampan::cli
