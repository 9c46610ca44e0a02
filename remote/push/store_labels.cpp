#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "base/utf8.h"
#include "remote/push/labels.h"

namespace sampan::push {
namespace {

// Pyroscope's default limits, in bytes.
constexpr size_t kLongestName = 1024, kLongestValue = 2048;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Names that begin with "__" are reserved.
std::string name_of(std::string_view text) {
  while (text.starts_with("__")) text.remove_prefix(1);
  std::string name(text.substr(0, kLongestName));
  for (char& c : name) {
    if (!is_letter(c) && !is_digit(c)) c = '_';
  }
  if (name.empty() || is_digit(name.front())) name.insert(name.begin(), '_');
  return name;
}

bool differ_in_dots_only(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return x == y || (x == '.' && y == '_'); });
}

// At most this many bytes, without splitting a character.
std::string cut(const std::string& text, size_t most) {
  if (text.size() <= most) return text;
  size_t size = 0;
  while (size + utf8_sequence(std::string_view(text).substr(size)) <= most) {
    size += utf8_sequence(std::string_view(text).substr(size));
  }
  return text.substr(0, size);
}

// A value within ingest's name, without the characters that would end it there.
std::string ingest_value(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == text.npos) return "_";
  std::string value(text.substr(first, text.find_last_not_of(' ') - first + 1));
  std::ranges::replace_if(
      value, [](char c) { return c == ',' || c == '}' || c == '{' || c == '\n'; }, '_');
  return value;
}

std::string ingest_service(std::string_view text) {
  std::string name(text);
  std::ranges::replace_if(
      name,
      [](char c) { return !is_letter(c) && !is_digit(c) && c != '.' && c != '-' && c != '/'; },
      '_');
  return name.empty() ? "unknown" : name;
}

}  // namespace

StoreLabels pyroscope_labels(const Labels& labels) {
  StoreLabels result;
  for (const auto& [given_name, given_value] : labels.pairs()) {
    const std::string name = name_of(given_name);
    const std::string value = cut(valid_utf8(given_value), kLongestValue);
    const auto same = [&](const auto& pair) { return pair.first == name; };
    if (std::ranges::any_of(result.pairs, same)) {
      result.changed.push_back(
          fmt::format("the label {} is left out: {} exists already", given_name, name));
      continue;
    }
    if (!differ_in_dots_only(given_name, name)) {
      result.changed.push_back(
          fmt::format("the label {} is called {}, because of the store's rules", given_name, name));
    }
    if (value != given_value) {
      result.changed.push_back(
          fmt::format("the value of the label {} was changed: the store accepts "
                      "{} bytes of UTF-8",
                      given_name, kLongestValue));
    }
    result.pairs.emplace_back(name, value);
  }
  return result;
}

std::string ingest_name(StoreLabels* labels) {
  std::string service = "unknown", others;
  for (const auto& [name, given] : labels->pairs) {
    const bool is_service = name == "service_name";
    const std::string value = is_service ? ingest_service(given) : ingest_value(given);
    if (value != given) {
      labels->changed.push_back(fmt::format(
          "the label {} is \"{}\": /ingest has no way to say \"{}\"", name, value, given));
    }
    if (is_service) {
      service = value;
    } else {
      if (!others.empty()) others += ',';
      others.append(name).append("=").append(value);
    }
  }
  return service + "{" + others + "}";
}

}  // namespace sampan::push
