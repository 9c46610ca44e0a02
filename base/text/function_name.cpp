#include "base/text/function_name.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/text/readable.h"

namespace sampan {

namespace {

// < and > are brackets, too, except in operators and arrows: "operator<", "f(int) -> char".

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// The length of "operator" and its symbol at text[i], if the symbol could be taken for brackets:
// operator<, operator<<=, operator->, operator(). Otherwise 0.
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

// The end of the bracket that opens at text[i]: one past the closing bracket, or npos. An unmatched
// < or > within parentheses is a comparison.
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

// Calls visit(begin, end) for every outermost bracket; false when brackets do not match.
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

constexpr std::string_view kOperator = "operator";
constexpr int kMaxDepth = 64;  // of nested brackets; deeper names are not shortened

// Rust's "impl Trait for Type" is the scope of a function, not its arguments.
bool is_implementation(std::string_view bracket) {
  return bracket.starts_with("<impl ");
}

// Go: "main.Map[...]", "main.Map[go.shape.int_0]".
bool is_go_arguments(std::string_view bracket) {
  return bracket == "[...]" || bracket.starts_with("[go.shape.");
}

bool is_path(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return is_word(c) || c == ':'; });
}

// Reads a name from its beginning to its end.
class Reader {
 public:
  Reader(std::string_view name, int depth) : name_(name), depth_(depth) {}

  // False if it is not a name, or if brackets do not match.
  bool read() {
    if (depth_ > kMaxDepth) return false;
    while (at_ < name_.size()) {
      if (!step()) return false;
    }
    return true;
  }

  // Without parameters, the part before a space may not be a return type.
  std::string take() { return has_parameters_ ? result_.substr(function_) : std::move(result_); }

 private:
  char before() const { return result_.empty() ? ' ' : result_.back(); }
  std::string_view rest() const { return name_.substr(at_); }
  // After a word, brackets are its arguments or parameters; otherwise they are a name.
  bool is_behind_word() const {
    return is_word(before()) || before() == '}' || before() == ']' || before() == ')' ||
           before() == '>' || after_operator_ == result_.size();
  }

  bool step() {
    const char c = name_[at_];
    if (rest().starts_with(kOperator) && !is_word(before()) &&
        (at_ + kOperator.size() >= name_.size() || !is_word(name_[at_ + kOperator.size()]))) {
      return read_operator();
    }
    if (c != '<' && c != '(' && c != '[' && c != '{') {
      result_ += c;
      ++at_;
      if (c == ' ') function_ = result_.size();
      return true;
    }
    const size_t end = bracket_end(name_, at_);
    if (end == name_.npos) return false;
    const std::string_view bracket = name_.substr(at_, end - at_);
    at_ = end;
    switch (c) {
      case '<': return read_angle(bracket);
      case '(': return read_round(bracket);
      case '[': return read_square(bracket);
      default: return read_curly(bracket);
    }
  }

  // "operator<", "operator new[]", "operator unsigned long", "operator\"\" _kg".
  bool read_operator() {
    const size_t symbol = operator_at(name_, at_);
    size_t end = at_ + (symbol != 0 ? symbol : kOperator.size());
    const bool is_word_next = symbol == 0 && end < name_.size() && name_[end] == ' ';
    const bool is_literal = name_.substr(end).starts_with("\"\"");
    std::string text(name_.substr(at_, end - at_));
    if (is_word_next || is_literal) {
      if (!read_converted(&end, &text)) return false;
    } else if (symbol == 0) {
      while (end < name_.size() && std::ispunct(static_cast<unsigned char>(name_[end])) != 0 &&
             name_[end] != '(' && name_[end] != '<' && name_[end] != '_') {
        text += name_[end++];
      }
    }
    result_ += text;
    at_ = end;
    after_operator_ = result_.size();
    // "operator< <int>": a space, because "operator<<int>" would be another operator.
    if (rest().starts_with(" <")) ++at_;
    return true;
  }

  // The type that an operator converts to, up to its parameters.
  bool read_converted(size_t* end, std::string* text) {
    while (*end < name_.size()) {
      const char c = name_[*end];
      if (c != '<' && c != '(' && c != '{') {
        *text += c;
        ++*end;
        continue;
      }
      if (c == '(' && text->back() != ' ') return true;
      const size_t bracket = bracket_end(name_, *end);
      if (bracket == name_.npos) return false;
      if (c != '<') *text += name_.substr(*end, bracket - *end);
      *end = bracket;
    }
    return true;
  }

  bool read_angle(std::string_view bracket) {
    if (is_behind_word()) return true;
    if (result_.ends_with("::") && !is_implementation(bracket)) {
      result_.resize(result_.size() - 2);
      return true;
    }
    const std::string inside = without_arguments(bracket.substr(1, bracket.size() - 2));
    // "<alloc::vec::Vec<T>>::push": a type and nothing else.
    result_ += result_.empty() && is_path(inside) ? inside : "<" + inside + ">";
    return true;
  }

  bool read_round(std::string_view bracket) {
    if (before() == '!') {  // D's template arguments
      result_.pop_back();
      return true;
    }
    if (result_.ends_with("decltype") || result_.ends_with("decltype ")) {
      result_ += bracket;
      return true;
    }
    if (is_behind_word()) {
      has_parameters_ = true;
      return read_behind_parameters();
    }
    const bool is_pointer = bracket.starts_with("(*") || bracket.starts_with("(&");
    if (is_pointer && before() == ' ' && !result_.empty()) return read_function_in(bracket);
    result_ += without_arguments(bracket);  // "(anonymous namespace)", Go's "(*T)"
    return true;
  }

  // "void (*f(int))(char)" is a function f that returns a pointer to another.
  bool read_function_in(std::string_view bracket) {
    Reader function(bracket.substr(2, bracket.size() - 3), depth_ + 1);
    if (!function.read() || !function.has_parameters_) return false;
    result_ = function.take();
    function_ = 0;
    has_parameters_ = true;
    at_ = name_.size();
    return true;
  }

  bool read_behind_parameters() {
    static constexpr std::string_view kQualifiers[] = {
        " const", " volatile", " &&", " &", "&&", "&", " noexcept", "[abi:", " [clone "};
    for (bool found = true; found;) {
      found = false;
      for (const std::string_view qualifier : kQualifiers) {
        if (!rest().starts_with(qualifier)) continue;
        const size_t close = qualifier.find('[') != qualifier.npos ? name_.find(']', at_) : 0;
        if (close == name_.npos) return false;
        at_ = close != 0 ? close + 1 : at_ + qualifier.size();
        found = true;
      }
    }
    if (rest().starts_with(" requires ")) at_ = name_.size();
    return rest().empty() || rest().starts_with("::") || rest()[0] == '.' || rest()[0] == '@';
  }

  bool read_square(std::string_view bracket) {
    if (bracket.starts_with("[abi:") || is_go_arguments(bracket)) return true;
    result_ += bracket;
    return true;
  }

  // "{lambda(int)#1}" is "{lambda#1}".
  bool read_curly(std::string_view bracket) {
    const std::string_view inside = bracket.substr(1, bracket.size() - 2);
    result_ += '{';
    size_t last = 0;
    const bool ok = for_each_bracket(inside, [&](size_t begin, size_t end) {
      const bool is_kept = inside[begin] == '{' || inside[begin] == '[';
      result_ += inside.substr(last, (is_kept ? end : begin) - last);
      last = end;
    });
    result_ += inside.substr(last);
    result_ += '}';
    return ok;
  }

  // A type without its template arguments.
  std::string without_arguments(std::string_view type) const {
    std::string text;
    for (size_t i = 0; i < type.size();) {
      const size_t end = type[i] == '<' || type[i] == '[' ? bracket_end(type, i) : type.npos;
      if (end == type.npos) {
        text += type[i++];
        continue;
      }
      const std::string_view bracket = type.substr(i, end - i);
      if (type[i] == '[' ? is_go_arguments(bracket) : !text.empty() && is_word(text.back())) {
        i = end;
      } else if (type[i] == '<' && text.ends_with("::") && !is_implementation(bracket)) {
        text.resize(text.size() - 2);
        i = end;
      } else {
        text += type[i++];
      }
    }
    return text;
  }

  const std::string_view name_;
  const int depth_;
  size_t at_ = 0;
  std::string result_;
  size_t function_ = 0;  // in the result: after what may be the return type
  bool has_parameters_ = false;
  size_t after_operator_ = std::string::npos;  // in the result: the end of the last operator
};

// "main.<locals>.<lambda>": these words are parts of the name, not arguments.
bool is_python(std::string_view name) {
  for (const std::string_view word :
       {"<module>", "<locals>", "<lambda>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}) {
    if (name.ends_with(word) || name.find(std::string(word) + '.') != name.npos) return true;
  }
  return false;
}

}  // namespace

std::string short_name(std::string_view name) {
  if (name.starts_with('[') || name.starts_with("py::") || name.starts_with("JS:") ||
      is_python(name)) {
    return std::string(name);
  }
  // Functions that compilers generate; their names say for what.
  for (const std::string_view word : {" thunk to ", " for "}) {
    const size_t end = name.substr(0, 40).find(word);
    if (end == name.npos || name.substr(0, end).find_first_of("<([{:") != name.npos) continue;
    const size_t begin = end + word.size();
    return std::string(name.substr(0, begin)) + short_name(name.substr(begin));
  }
  Reader reader(name, 0);
  return reader.read() ? reader.take() : std::string(name);
}

namespace {

// Parameters, and the const, & or [clone] after them. A bracket that "::" follows is part of the
// name: (anonymous namespace)::f, f(int)::{lambda()#1}::operator().
std::string without_parameters(std::string_view name) {
  std::string result(name);
  const bool ok = for_each_bracket(name, [&](size_t begin, size_t end) {
    if (name[begin] != '(' || begin == 0 || name.substr(end).starts_with("::")) return;
    result = std::string(name.substr(0, begin)) + (end - begin > 2 ? "(…)" : "()");
  });
  return ok ? result : std::string(name);
}

// Demangled names of function templates begin with the return type.
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
    // At the start it is a type, as in Rust's <T as Trait>::f: the rest alone would say too little.
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

// [module+0x1234]: the offset distinguishes such names; the module has a column of its own.
std::string without_module(std::string_view name, size_t width) {
  const size_t plus = name.rfind("+0x");
  if (plus == name.npos || plus == 0) return cut_end(name, width);
  const std::string_view offset = name.substr(plus);
  if (columns(offset) + 2 > width) return cut_end(name, width);
  return cut_end(name.substr(0, plus), width - columns(offset)) + std::string(offset);
}

// V8's names have the position of a function: "JS:*sort /srv/list.js:7:12".
std::string without_place(std::string_view name) {
  return std::string(name.starts_with("JS:") ? name.substr(0, name.find(' ')) : name);
}

}  // namespace

std::string shorten(std::string_view name, size_t width) {
  std::string text(name);
  const auto fits = [&] { return columns(text) <= width; };
  if (fits()) return text;
  if (is_python(text)) return cut_start(text, width);
  if (text.starts_with("[") && text.ends_with("]")) return without_module(text, width);
  text = without_place(text);
  if (fits()) return text;
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

}  // namespace sampan
