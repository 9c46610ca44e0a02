// Completion scripts. The command decides how a word is completed: its options; after an option its
// values, or files; after "--" of `run` a command.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include "cli/command.h"
#include "cli/manual.h"

namespace sampan::cli {
namespace {

using Described = std::vector<CommandText>;

std::string names_of(const Described& commands) {
  std::string names;
  for (const CommandText& command : commands) names += command.name + " ";
  return names + "help";
}

std::vector<std::string> option_names(const CommandText& command) {
  std::vector<std::string> names;
  for (const OptionText& option : command.options) {
    if (option.positional) continue;
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

// In single quotes, which work in bash, zsh and fish; quotes in the text are replaced.
std::string in_quotes(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "’" : std::string(1, c);
  return result + "'";
}

std::string bash(const Described& commands) {
  std::string text = fmt::format(R"(# bash completion for sampan; made from what --help says.
_sampan() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}
  local command=${{COMP_WORDS[1]}} options= i
  compopt -o default 2> /dev/null
  if (( COMP_CWORD == 1 )); then
    COMPREPLY=($(compgen -W '{}' -- "$word"))
    return
  fi
  for (( i = 2; i < COMP_CWORD; ++i )); do
    [[ ${{COMP_WORDS[i]}} == -- ]] || continue
    COMPREPLY=($(compgen -c -- "$word"))
    (( i + 1 == COMP_CWORD )) || COMPREPLY=()
    return
  done
  case $command/$before in
)",
                                 names_of(commands));
  for (const CommandText& command : commands) {
    for (const OptionText& option : command.options) {
      if (option.positional || option.value.empty()) continue;
      for (const std::string& name : option.names) {
        text += fmt::format(
            "    {}/{}) COMPREPLY=($(compgen {} -- \"$word\")); return ;;\n", command.name, name,
            option.takes_a_path() ? "-f"
                                  : fmt::format("-W '{}'", fmt::join(option.choices(), " ")));
      }
    }
  }
  text += "  esac\n  case $command in\n";
  text += fmt::format("    help) options='{}' ;;\n", names_of(commands));
  for (const CommandText& command : commands) {
    text += fmt::format("    {}) options='{}' ;;\n", command.name,
                        fmt::join(option_names(command), " "));
  }
  return text + R"(  esac
  COMPREPLY=()
  [[ $word == -* || $command == help ]] && COMPREPLY=($(compgen -W "$options" -- "$word"))
}
complete -F _sampan sampan
)";
}

// Brackets and colons are special in the specifications of _arguments.
std::string zsh_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string zsh_value(const OptionText& option) {
  const std::string kind = option.positional ? option.names.front() : option.value;
  if (option.takes_a_path()) return zsh_text(kind) + ":_files";
  return fmt::format("{}:({})", zsh_text(kind), fmt::join(option.choices(), " "));
}

std::string zsh(const Described& commands) {
  std::string text =
      "#compdef sampan\n# zsh completion for sampan; made from what --help says.\n\n_sampan() {\n"
      "  local -a commands\n  commands=(\n";
  for (const CommandText& command : commands) {
    text += "    " + in_quotes(command.name + ":" + zsh_text(command.description)) + "\n";
  }
  text += R"(  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( --CURRENT ))
  case $command in
)";
  for (const CommandText& command : commands) {
    text += fmt::format("    {})\n      _arguments -s", command.name);
    for (const OptionText& option : command.options) {
      if (option.positional) {
        text += " \\\n        " + in_quotes("*:" + zsh_value(option));
        continue;
      }
      for (const std::string& name : option.names) {
        std::string spec = "*" + name + "[" + zsh_text(option.description) + "]";
        if (!option.value.empty()) spec += ":" + zsh_value(option);
        text += " \\\n        " + in_quotes(spec);
      }
    }
    const bool takes_a_program = command.usage.find(" -- ") != std::string::npos;
    if (takes_a_program) text += " \\\n        " + in_quotes("*::program:_normal");
    text += " ;;\n";
  }
  return text + "  esac\n}\n\n_sampan \"$@\"\n";
}

std::string fish(const Described& commands) {
  std::string text = "# fish completion for sampan; made from what --help says.\n";
  for (const CommandText& command : commands) {
    text += fmt::format("complete -c sampan -n __fish_use_subcommand -f -a {} -d {}\n",
                        command.name, in_quotes(command.description));
    for (const OptionText& option : command.options) {
      if (option.positional) continue;
      std::string names;
      for (const std::string& name : option.names) {
        names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      std::string value;
      if (option.takes_a_path()) {
        value = " -r";
      } else if (!option.value.empty()) {
        value = fmt::format(" -x -a {}",
                            in_quotes(fmt::format("{}", fmt::join(option.choices(), " "))));
      }
      text += fmt::format("complete -c sampan -n '__fish_seen_subcommand_from {}'{}{} -d {}\n",
                          command.name, names, value, in_quotes(option.description));
    }
  }
  return text;
}

}  // namespace

std::string completion(const CLI::App& app, const std::string& shell) {
  const Described commands = describe(app);
  if (shell == "bash") return bash(commands);
  if (shell == "zsh") return zsh(commands);
  if (shell == "fish") return fish(commands);
  throw UsageError("help: --completion takes bash, zsh or fish, not '{}'", shell);
}

}  // namespace sampan::cli
