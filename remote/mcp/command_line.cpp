#include "remote/mcp/command_line.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace sampan::mcp {
namespace {

using rapidjson::Value;

constexpr uint64_t kHighestCount = 1'000'000;
constexpr double kLongestS = 86400;
constexpr double kLongestRunS = 3600;

std::string_view text_of(const Value& value) {
  return {value.GetString(), value.GetStringLength()};
}

[[noreturn]] void refuse(const Parameter& parameter, std::string_view what) {
  throw Error("{}: {}", parameter.name, what);
}

// No command line can have a zero byte.
std::string text(const Parameter& parameter, const Value& value) {
  if (!value.IsString()) refuse(parameter, "a text is wanted");
  if (text_of(value).find('\0') != std::string_view::npos)
    refuse(parameter, "a text without zero bytes is wanted");
  return std::string(text_of(value));
}

std::string choice(const Parameter& parameter, const Value& value) {
  std::string word = text(parameter, value);
  const std::string all = fmt::format("|{}|", parameter.choices);
  if (word.empty() || word.find('|') != word.npos ||
      all.find(fmt::format("|{}|", word)) == all.npos) {
    refuse(parameter, fmt::format("one of {} is wanted", parameter.choices));
  }
  return word;
}

double number(const Parameter& parameter, const Value& value, double highest) {
  if (!value.IsNumber() || !(value.GetDouble() >= 0 && value.GetDouble() <= highest)) {
    refuse(parameter, fmt::format("a number from 0 to {} is wanted", highest));
  }
  return value.GetDouble();
}

uint64_t whole_number(const Parameter& parameter, const Value& value, uint64_t highest) {
  if (!value.IsUint64() || value.GetUint64() == 0 || value.GetUint64() > highest) {
    refuse(parameter, fmt::format("a whole number from 1 to {} is wanted", highest));
  }
  return value.GetUint64();
}

// A positional argument that begins with a dash would be an option.
std::string positional(const Parameter& parameter, const std::string& word) {
  if (word.empty() || word.starts_with('-'))
    refuse(parameter, "it may not be empty or begin with a dash");
  return word;
}

std::vector<std::string> program(const Parameter& parameter, const Value& value) {
  std::vector<std::string> words = {"--"};
  if (!value.IsArray() || value.Empty())
    refuse(parameter, "an array of words is wanted, the program first");
  for (const Value& word : value.GetArray()) words.push_back(text(parameter, word));
  return words;
}

// The value as a word of the command line.
std::string word_of(const Parameter& parameter, const Value& value) {
  switch (parameter.kind) {
    case Kind::kText: return text(parameter, value);
    case Kind::kName: return positional(parameter, text(parameter, value));
    case Kind::kChoice: return choice(parameter, value);
    case Kind::kCount: return std::to_string(whole_number(parameter, value, kHighestCount));
    case Kind::kPid: return std::to_string(whole_number(parameter, value, INT32_MAX));
    case Kind::kTime: return fmt::format("{:.6f}s", number(parameter, value, kLongestS));
    case Kind::kRecording:
    case Kind::kFlag:
    case Kind::kProgram: break;
  }
  return "";
}

void add_recording(std::string word, CommandLine& line) {
  line.recordings.push_back(line.words.size());
  line.words.push_back(std::move(word));
}

void add(const Parameter& parameter, const Value& value, CommandLine& line) {
  if (parameter.kind == Kind::kProgram) {
    const std::vector<std::string> words = program(parameter, value);
    line.words.insert(line.words.end(), words.begin(), words.end());
  } else if (parameter.kind == Kind::kRecording) {
    add_recording(text(parameter, value), line);
  } else if (parameter.kind == Kind::kFlag) {
    if (!value.IsBool()) refuse(parameter, "true or false is wanted");
    if (value.GetBool()) line.words.emplace_back(parameter.option);
  } else if (parameter.kind == Kind::kTime && parameter.option.empty()) {
    line.longest_s = number(parameter, value, kLongestRunS);
  } else if (parameter.option.empty()) {
    line.words.push_back(word_of(parameter, value));
  } else {
    line.words.push_back(fmt::format("{}={}", parameter.option, word_of(parameter, value)));
  }
}

std::vector<std::string> first_words(std::string_view command) {
  std::vector<std::string> words;
  while (!command.empty()) {
    const std::string_view word = command.substr(0, command.find(' '));
    words.emplace_back(word);
    command.remove_prefix(std::min(command.size(), word.size() + 1));
  }
  return words;
}

// Positional recordings have their places: the second one needs the first.
std::string_view default_of(const Parameter& parameter) {
  if (parameter.kind != Kind::kRecording) return "";
  return parameter.name == "before" ? "-2" : "-1";
}

}  // namespace

CommandLine command_line(const Tool& tool, const Value& arguments) {
  if (!arguments.IsObject() && !arguments.IsNull()) throw Error("the arguments must be an object");
  CommandLine line{.words = first_words(tool.command)};
  if (tool.longest_s > 0) line.longest_s = tool.longest_s;
  size_t used = 0;
  const Parameter* program = nullptr;
  const auto given = [&](const Parameter& parameter) -> const Value* {
    const Value name(rapidjson::StringRef(parameter.name.data(), parameter.name.size()));
    if (arguments.IsNull()) return nullptr;
    const auto found = arguments.FindMember(name);
    return found == arguments.MemberEnd() ? nullptr : &found->value;
  };
  for (const Parameter& parameter : tool.parameters) {
    const Value* const value = given(parameter);
    used += value != nullptr;
    if (value == nullptr && parameter.is_required) refuse(parameter, "it is missing");
    if (parameter.kind == Kind::kProgram) {
      program = &parameter;  // ends the command line
    } else if (value != nullptr) {
      add(parameter, *value, line);
    } else if (const std::string_view word = default_of(parameter); !word.empty()) {
      add_recording(std::string(word), line);
    }
  }
  if (arguments.IsObject() && used != arguments.MemberCount()) {
    throw Error("{} has no such parameter: it has {}", tool.name, [&] {
      std::string names;
      for (const Parameter& parameter : tool.parameters)
        names += (names.empty() ? "" : ", ") + std::string(parameter.name);
      return names.empty() ? std::string("none") : names;
    }());
  }
  if (program != nullptr) {
    if (!line.longest_s) line.longest_s = kLongestRunS;
    add(*program, *given(*program), line);
  }
  return line;
}

}  // namespace sampan::mcp
