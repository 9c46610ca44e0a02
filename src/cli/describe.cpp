#include "cli/describe.h"

#include <algorithm>
#include <cctype>

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

OptionText describe_option(const CLI::Option& option) {
  OptionText text;
  text.positional = !option.nonpositional();
  if (text.positional) text.names = {option.get_name(true)};
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  const bool is_flag = option.get_expected_max() == 0;
  if (!is_flag && !text.positional) text.value = option.get_type_name();
  text.description = option.get_description();
  text.variable = option.get_envname();
  text.required = option.get_required();
  text.several = option.get_expected_max() > 1;
  return text;
}

std::string usage_of(const CommandText& command, const std::string& footer) {
  // `run` says for itself what comes behind its options.
  if (footer.starts_with("sampan ")) return footer;
  std::string usage = "sampan " + command.name;
  for (const OptionText& option : command.options) {
    if (!option.positional) continue;
    const std::string name = option.names.front() + (option.several ? "..." : "");
    usage += " " + (option.required ? name : "[" + name + "]");
  }
  return usage + " [OPTIONS]";
}

}  // namespace

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
    CommandText text{command->get_name(), command->get_description(), "", {}};
    for (const CLI::Option* option : command->get_options()) {
      if (!option->get_group().empty()) text.options.push_back(describe_option(*option));
    }
    text.usage = usage_of(text, command->get_footer());
    commands.push_back(std::move(text));
  }
  return commands;
}

}  // namespace sampan::cli
