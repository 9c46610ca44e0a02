// Where brackets begin and end in the names of functions, in which < and > are brackets, too, but
// for operators and arrows: "operator<", "f(int) -> char".
#pragma once

#include <cstddef>
#include <string_view>

namespace sampan::reports {

// A letter, a digit or an underscore.
bool is_word(char c);

// Length of "operator" and the symbol after it at text[i], when its characters would be taken for
// brackets: operator<, operator<<=, operator->, operator(). 0 elsewhere.
size_t operator_at(std::string_view text, size_t i);

// The end of the bracket that opens at text[i]: one past its closing partner, or npos. A < or >
// without a partner within round brackets compares.
size_t bracket_end(std::string_view text, size_t i);

// Calls visit(begin, end) for every outermost bracket; false: brackets do not match.
template <typename Visit>
bool for_each_bracket(std::string_view text, Visit&& visit) {
  for (size_t i = 0; i < text.size();) {
    if (const size_t symbol = operator_at(text, i); symbol != 0) {
      i += symbol;
    } else if (text[i] == '<' || text[i] == '(' || text[i] == '[' || text[i] == '{') {
      const size_t end = bracket_end(text, i);
      if (end == text.npos) return false;
      visit(i, end);
      i = end;
    } else {
      ++i;
    }
  }
  return true;
}

}  // namespace sampan::reports
