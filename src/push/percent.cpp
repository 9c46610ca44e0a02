#include "push/percent.h"

#include <charconv>

namespace sampan::push {
namespace {

bool is_unreserved(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

}  // namespace

std::string percent_encoded(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (is_unreserved(c)) {
      result += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      result += {'%', "0123456789ABCDEF"[byte >> 4], "0123456789ABCDEF"[byte & 15]};
    }
  }
  return result;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    unsigned byte = 0;
    const std::string_view digits = text.substr(i + 1, 2);
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), byte, 16);
    if (digits.size() != 2 || error != std::errc() || end != digits.end()) return std::nullopt;
    result += static_cast<char>(byte);
    i += 2;
  }
  return result;
}

std::string encoded_pairs(const Pairs& pairs) {
  std::string result;
  for (const auto& [name, value] : pairs) {
    if (!result.empty()) result += '&';
    result += percent_encoded(name) + '=' + percent_encoded(value);
  }
  return result;
}

std::optional<Pairs> decoded_pairs(std::string_view text, char separator) {
  Pairs pairs;
  while (!trimmed(text).empty()) {
    const std::string_view pair = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    const size_t equals = pair.find('=');
    if (equals == pair.npos) return std::nullopt;
    const auto name = percent_decoded(trimmed(pair.substr(0, equals)));
    const auto value = percent_decoded(trimmed(pair.substr(equals + 1)));
    if (!name || name->empty() || !value) return std::nullopt;
    pairs.emplace_back(*name, *value);
  }
  return pairs;
}

}  // namespace sampan::push
