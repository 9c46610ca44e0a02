#include "cli/manual.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "base/text/readable.h"
#include "cli/command.h"
#include "exporters/exporter.h"

namespace sampan::cli {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

OptionText describe_option(const CLI::Option& option, bool positional) {
  OptionText text;
  text.positional = positional;
  if (positional) {
    text.names = {option.get_name(true)};
  } else {
    for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  }
  const bool is_flag = option.get_expected_max() == 0;
  if (!is_flag && !positional) text.value = option.get_type_name();
  text.description = option.get_description();
  text.variable = option.get_envname();
  text.required = option.get_required();
  text.several = option.get_expected_max() > 1;
  return text;
}

constexpr std::string_view kExamples = "Examples:\n  ";

// The inverse of set_examples().
std::vector<std::string> examples_of(const std::string& footer) {
  const size_t place = footer.find(kExamples);
  if (place == footer.npos) return {};
  std::vector<std::string> lines = split(footer.substr(place + kExamples.size()), '\n');
  for (std::string& line : lines) line.erase(0, line.find_first_not_of(' '));
  return lines;
}

// The first line of the footer, where set_examples() has put a usage.
std::string given_usage(const std::string& footer) {
  return footer.starts_with("sampan ") ? split(footer, '\n').front() : "";
}

std::string usage_of(const CommandText& command, const std::string& footer) {
  if (std::string given = given_usage(footer); !given.empty()) return given;
  std::string usage = "sampan " + command.name;
  for (const OptionText& option : command.options) {
    if (!option.positional) continue;
    const std::string name = option.names.front() + (option.several ? "..." : "");
    usage += " " + (option.required ? name : "[" + name + "]");
  }
  return usage + " [OPTIONS]";
}

CommandText describe_command(const CLI::App& command) {
  CommandText text{command.get_name(), command.get_description(), "", {}};
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    // "-p PID" may be given either way.
    if (option->get_positional()) text.options.push_back(describe_option(*option, true));
    if (option->nonpositional()) text.options.push_back(describe_option(*option, false));
  }
  text.usage = usage_of(text, command.get_footer());
  text.examples = examples_of(command.get_footer());
  return text;
}

constexpr size_t kLeft = 30, kRight = 50;  // columns of --help

std::string in_columns(const std::string& left, const std::string& right) {
  const std::string indent(kLeft, ' ');
  const bool beside = left.size() < kLeft;
  return fmt::format("{}{}{}\n", left, beside ? indent.substr(left.size()) : "\n" + indent,
                     fmt::join(wrap(right, kRight), "\n" + indent));
}

std::string help_of(const CLI::Option& option, bool positional) {
  const OptionText text = describe_option(option, positional);
  std::string left = fmt::format("  {}", fmt::join(text.names, ","));
  if (!text.value.empty()) left += " " + text.value;
  if (!option.get_default_str().empty()) left += "=" + option.get_default_str();
  if (text.several) left += " ...";
  if (!text.variable.empty()) left += " (Env:" + text.variable + ")";
  for (const CLI::Option* needed : option.get_needs()) left += " Needs: " + needed->get_name();
  return in_columns(left, text.description);
}

std::string help_of(const CLI::App& app, bool positional) {
  std::string lines;
  for (const CLI::Option* option : app.get_options()) {
    const bool is_asked = positional ? option->get_positional() : option->nonpositional();
    if (is_asked && !option->get_group().empty()) lines += help_of(*option, positional);
  }
  if (lines.empty()) return "";
  return (positional ? "\nPositionals:\n" : "\nOptions:\n") + lines;
}

// --help with the usage of the man page. CLI11 would write it in another way in each of its versions,
// and newer ones break the lines of examples.
class HelpText : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string /*name*/,
                        CLI::AppFormatMode /*mode*/) const override {
    const bool is_command = app->get_parent() != nullptr;
    std::string text = fmt::format(
        "{}\nUsage: {}\n{}{}", app->get_description(),
        is_command ? describe_command(*app).usage : app->get_name() + " COMMAND [OPTIONS]",
        help_of(*app, true), help_of(*app, false));
    const std::vector<CommandText> commands = describe(*app);
    if (!commands.empty()) text += "\nCommands:\n";
    for (const CommandText& command : commands) {
      text += in_columns("  " + command.name, command.description);
    }
    std::string footer = app->get_footer();
    footer.erase(0, footer.find_first_not_of('\n', given_usage(footer).size()));
    return text + "\n" + footer + "\n";
  }
};

// Escapes the characters that roff interprets.
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
    text += ".PP\nExamples:\n.RS 4\n.nf\n";
    for (const std::string& example : command.examples) text += roff(example) + "\n";
    text += ".fi\n.RE\n";
  }
  return text;
}

// Each variable once, with the option that it sets.
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
         "run returns the program's own status, or dies of the same signal; 127: the program was "
         "not found; 126: it could not be executed; " +
         std::to_string(kExitRunFailure) + ": sampan itself failed before. Other commands return " +
         std::to_string(kExitFailure) + " for failures and " + std::to_string(kExitUsage) +
         " for a wrong command line.\n";
}

}  // namespace

void set_examples(CLI::App& command, const std::vector<std::string>& examples,
                  const std::string& before) {
  command.footer(fmt::format("{}{}{}{}", before, before.empty() ? "" : "\n\n", kExamples,
                             fmt::join(examples, "\n  ")));
}

std::vector<std::string> OptionText::choices() const {
  std::vector<std::string> words;
  if (value == "FORMAT") {
    for (const exporters::Format& format : exporters::formats()) words.emplace_back(format.name);
  } else if (!value.empty() && std::islower(static_cast<unsigned char>(value.front())) != 0) {
    words = split(value, '|');
  }
  return words;
}

bool OptionText::takes_a_path() const {
  const std::string& kind = positional ? names.front() : value;
  static constexpr std::string_view kPaths[] = {"FILE", "DIR", "DIR|FILE", "RECORDING", "A", "B"};
  return std::find(std::begin(kPaths), std::end(kPaths), kind) != std::end(kPaths);
}

std::vector<CommandText> describe(const CLI::App& app) {
  std::vector<CommandText> commands;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_group().empty()) continue;  // hidden
    commands.push_back(describe_command(*command));
  }
  return commands;
}

std::shared_ptr<CLI::FormatterBase> help_text() {
  return std::make_shared<HelpText>();
}

std::string man_page(const CLI::App& app) {
  const std::vector<CommandText> commands = describe(app);
  std::string text = fmt::format(".TH SAMPAN 1 \"\" \"sampan {}\"\n", SAMPAN_VERSION);
  text += section("NAME") + "sampan \\- a sampling profiler for programs, native and Python\n";
  text += section("SYNOPSIS");
  for (const CommandText& command : commands) {
    if (&command != &commands.front()) text += ".br\n";
    text += "\\fB" + roff(command.usage) + "\\fR\n";
  }
  text += section("DESCRIPTION") +
          "sampan profiles Linux programs without recompiling or relinking them, and shows "
          "where each thread, native or Python, spent its CPU time, or waited. A run writes a "
          "recording and files for "
          "the usual viewers to sampan\\-profiles/.\n";
  return text + commands_section(commands) + environment_section(commands) + exit_status_section();
}

}  // namespace sampan::cli
