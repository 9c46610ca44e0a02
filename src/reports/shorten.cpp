#include "reports/shorten.h"

#include <cctype>

#include "reports/text.h"

namespace sampan::reports {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Length of "operator" and the symbol after it at text[i], when its characters would be taken for
// brackets: operator<, operator<<=, operator->, operator(). 0 elsewhere.
size_t operator_at(std::string_view text, size_t i) {
  constexpr std::string_view kOperator = "operator";
  if (!text.substr(i).starts_with(kOperator) || (i > 0 && is_word(text[i - 1]))) return 0;
  const std::string_view rest = text.substr(i + kOperator.size());
  for (const std::string_view symbol :
       {"<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "()", "<", ">"}) {
    if (rest.starts_with(symbol)) return kOperator.size() + symbol.size();
  }
  return 0;
}

// The end of the bracket that opens at text[i]: one past its closing partner, or npos.
size_t bracket_end(std::string_view text, size_t i) {
  size_t depth = 0;
  while (i < text.size()) {
    if (const size_t symbol = operator_at(text, i); symbol != 0) {
      i += symbol;
      continue;
    }
    const char c = text[i];
    const bool arrow = c == '>' && i > 0 && text[i - 1] == '-';
    if (c == '<' || c == '(' || c == '[' || c == '{') ++depth;
    if ((c == '>' && !arrow) || c == ')' || c == ']' || c == '}') {
      if (depth == 0) return text.npos;
      if (--depth == 0) return i + 1;
    }
    ++i;
  }
  return text.npos;
}

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

// Parameters, and the const, & or [clone] after them. A bracket with "::" behind it is part of the
// name: (anonymous namespace)::f, f(int)::{lambda()#1}::operator().
std::string without_parameters(std::string_view name) {
  std::string result(name);
  const bool ok = for_each_bracket(name, [&](size_t begin, size_t end) {
    if (name[begin] != '(' || begin == 0 || name.substr(end).starts_with("::")) return;
    result = std::string(name.substr(0, begin)) + (end - begin > 2 ? "(…)" : "()");
  });
  return ok ? result : std::string(name);
}

// Function templates are demangled with their return type in front.
std::string without_return_type(std::string_view name) {
  size_t limit = name.find("operator");
  limit = limit == name.npos ? name.size() : limit;
  size_t start = 0;
  size_t last = 0;
  const auto look_between = [&](size_t end) {
    for (size_t i = last; i < end; ++i) {
      if (name[i] == ' ' && i < limit) start = i + 1;
    }
  };
  const bool ok = for_each_bracket(name, [&](size_t begin, size_t end) {
    look_between(begin);
    last = end;
  });
  look_between(name.size());
  return std::string(ok ? name.substr(start) : name);
}

std::string without_template_arguments(std::string_view name) {
  std::string result;
  size_t last = 0;
  const bool ok = for_each_bracket(name, [&](size_t begin, size_t end) {
    // At the start it is a type, as in Rust's <T as Trait>::f: the rest alone would say little.
    if (name[begin] != '<' || begin == 0) return;
    result += name.substr(last, begin - last);
    result += "<…>";
    last = end;
  });
  result += name.substr(last);
  return ok ? result : std::string(name);
}

// The last parts of a::b::c that fit, after an ellipsis.
std::string without_namespaces(std::string_view name, size_t width) {
  std::string best(name);
  size_t last = 0;
  const auto look_between = [&](size_t end) {
    for (size_t i = name.find("::", last); i < end && columns(best) > width;
         i = name.find("::", i + 2)) {
      best = "…" + std::string(name.substr(i + 2));
    }
  };
  for_each_bracket(name, [&](size_t begin, size_t end) {
    look_between(begin);
    last = end;
  });
  look_between(name.size());
  return best;
}

// [module+0x1234]: the offset tells such names apart, the module stands beside them.
std::string without_module(std::string_view name, size_t width) {
  const size_t plus = name.rfind("+0x");
  if (plus == name.npos || plus == 0) return cut_end(name, width);
  const std::string_view offset = name.substr(plus);
  if (columns(offset) + 2 > width) return cut_end(name, width);
  return cut_end(name.substr(0, plus), width - columns(offset)) + std::string(offset);
}

}  // namespace

std::string shorten(std::string_view name, size_t width) {
  std::string text(name);
  const auto fits = [&] { return columns(text) <= width; };
  if (fits()) return text;
  if (text.starts_with("[") && text.ends_with("]")) return without_module(text, width);
  text = without_parameters(text);
  if (fits()) return text;
  text = without_return_type(text);
  if (fits()) return text;
  text = without_template_arguments(text);
  if (fits()) return text;
  if (text.ends_with(")")) text.resize(text.rfind('('));
  if (fits()) return text;
  return cut_end(without_namespaces(text, width), width);
}

}  // namespace sampan::reports
