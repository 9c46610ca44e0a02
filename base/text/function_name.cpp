#include "reports/short_name.h"

#include <algorithm>
#include <cctype>

#include "reports/brackets.h"

namespace sampan::reports {
namespace {

constexpr std::string_view kOperator = "operator";
constexpr int kMaxDepth = 64;  // of brackets that are kept; deeper names stay as they are

// Rust's "impl Trait for Type" is what encloses a function, not its arguments.
bool is_implementation(std::string_view bracket) {
  return bracket.starts_with("<impl ");
}

// Of Go: "main.Map[...]", "main.Map[go.shape.int_0]".
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

  // False for what is no name, or brackets that do not match.
  bool read() {
    if (depth_ > kMaxDepth) return false;
    while (at_ < name_.size()) {
      if (!step()) return false;
    }
    return true;
  }

  // Without parameters, what is in front of a space is not known to be a return type.
  std::string take() { return has_parameters_ ? result_.substr(function_) : std::move(result_); }

 private:
  char before() const { return result_.empty() ? ' ' : result_.back(); }
  std::string_view rest() const { return name_.substr(at_); }
  // Behind a word, brackets are its arguments or parameters; else they are a name themselves.
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

  // A type as it is, but for the arguments of its templates.
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
  size_t function_ = 0;  // in the result: behind what may be the return type
  bool has_parameters_ = false;
  size_t after_operator_ = std::string::npos;  // in the result: the end of the last operator
};

}  // namespace

std::string short_name(std::string_view name) {
  if (name.starts_with('[') || name.starts_with("py::") || name.starts_with("JS:")) {
    return std::string(name);
  }
  // What compilers make, of which the name says for what.
  for (const std::string_view word : {" thunk to ", " for "}) {
    const size_t end = name.substr(0, 40).find(word);
    if (end == name.npos || name.substr(0, end).find_first_of("<([{:") != name.npos) continue;
    const size_t begin = end + word.size();
    return std::string(name.substr(0, begin)) + short_name(name.substr(begin));
  }
  Reader reader(name, 0);
  return reader.read() ? reader.take() : std::string(name);
}

}  // namespace sampan::reports
