#include "reports/shorten.h"

#include "reports/brackets.h"
#include "reports/text.h"

namespace sampan::reports {
namespace {

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

// V8's names say where a function is: "JS:*sort /srv/list.js:7:12".
std::string without_place(std::string_view name) {
  return std::string(name.starts_with("JS:") ? name.substr(0, name.find(' ')) : name);
}

}  // namespace

std::string shorten(std::string_view name, size_t width) {
  std::string text(name);
  const auto fits = [&] { return columns(text) <= width; };
  if (fits()) return text;
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

}  // namespace sampan::reports
