#include "reports/brackets.h"

#include <cctype>
#include <string>

namespace sampan::reports {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

size_t operator_at(std::string_view text, size_t i) {
  constexpr std::string_view kOperator = "operator";
  if (!text.substr(i).starts_with(kOperator) || (i > 0 && is_word(text[i - 1]))) return 0;
  const std::string_view rest = text.substr(i + kOperator.size());
  for (const std::string_view symbol :
       {"<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "()", "[]", "<", ">"}) {
    if (rest.starts_with(symbol)) return kOperator.size() + symbol.size();
  }
  return 0;
}

size_t bracket_end(std::string_view text, size_t i) {
  std::string open;  // innermost last
  while (i < text.size()) {
    if (const size_t symbol = operator_at(text, i); symbol != 0) {
      i += symbol;
      continue;
    }
    const char c = text[i];
    if (c == '<' || c == '(' || c == '[' || c == '{') {
      open += c;
    } else if (c == '>') {
      const bool is_arrow = i > 0 && text[i - 1] == '-';
      if (open.back() == '<' && !is_arrow) open.pop_back();
    } else if (c == ')' || c == ']' || c == '}') {
      const char partner = c == ')' ? '(' : c == ']' ? '[' : '{';
      while (!open.empty() && open.back() == '<') open.pop_back();
      if (open.empty() || open.back() != partner) return text.npos;
      open.pop_back();
    }
    ++i;
    if (open.empty()) return i;
  }
  return text.npos;
}

}  // namespace sampan::reports
