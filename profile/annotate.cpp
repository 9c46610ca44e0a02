#include "profile/annotate.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/nearest.h"
#include "profile/frames.h"
#include "profile/function_kinds.h"

namespace sampan::profile {
namespace {

// "ns::work<int>" of "ns::work<int>(char const*)"; "(anonymous namespace)" and "operator()" are
// names.
std::string_view without_parameters(std::string_view name) {
  size_t at = 0;
  while ((at = name.find('(', at)) != name.npos) {
    const std::string_view rest = name.substr(at);
    if (rest.starts_with("(anonymous namespace)")) {
      at += 21;
    } else if (rest.starts_with("()") && name.substr(0, at).ends_with("operator")) {
      at += 2;
    } else {
      break;
    }
  }
  return name.substr(0, at);
}

// "work<int>" of "ns::work<int>". Angle brackets may contain "::", too.
std::string_view last_part(std::string_view bare) {
  const size_t colons = bare.substr(0, bare.find('<')).rfind("::");
  return colons == bare.npos ? bare : bare.substr(colons + 2);
}

// "run" of "Service.run", "Service" of "make.<locals>.Service".
std::string_view last_part_of_python(std::string_view name) {
  return name.substr(name.rfind('.') + 1);  // npos + 1 is 0: the whole
}

// How well a name matches the query; 0: it does not.
int fit(std::string_view wanted, std::string_view name, bool is_python) {
  const std::string_view bare = without_parameters(name);
  if (name == wanted) return 4;
  if (bare == wanted) return 3;
  if ((is_python ? last_part_of_python(name) : last_part(bare)) == wanted) return 2;
  return name.find(wanted) != name.npos ? 1 : 0;
}

// The rows that match best, most self time first.
std::vector<FlatRow> functions_called(const View& view, const std::string& wanted) {
  const Profile& profile = *view.profile;
  std::vector<FlatRow> best;
  int best_fit = 1;
  std::vector<std::string> known;
  const std::vector<FunctionKind> kinds = function_kinds(profile);
  for (const FlatRow& row : flat_table(view)) {
    if (row.function == kNone) continue;
    const std::string_view name = function_name(profile, row.function);
    const bool is_python = kinds[row.function] == FunctionKind::kPython;
    known.emplace_back(is_python ? last_part_of_python(name) : last_part(without_parameters(name)));
    const int how = fit(wanted, name, is_python);
    if (how < best_fit) continue;
    if (how > best_fit) best.clear();
    best_fit = how;
    best.push_back(row);
  }
  if (best.empty()) {
    throw Error("no function of the recording is called '{}'{}", wanted,
                did_you_mean(wanted, known));
  }
  return best;
}

// Calls visit(location, is_leaf) for the frames of a stack that are in the function.
template <typename Visit>
void for_each_place(const Profile& profile, uint32_t stack, uint32_t function, Visit&& visit) {
  for (uint32_t at = stack; at != kNone; at = profile.stacks[at].prefix) {
    const uint32_t location = profile.stacks[at].location;
    bool is_of_it = false;
    for_each_frame(profile, location,
                   [&](const Frame& frame) { is_of_it |= frame.function == function; });
    if (is_of_it) visit(profile.locations[location], at == stack);
  }
}

std::vector<AnnotatedAddress> addresses_of(const View& view, uint32_t function) {
  std::map<std::pair<uint32_t, uint64_t>, AnnotatedAddress> rows;
  std::vector<AnnotatedAddress*> seen;
  for (const WeightedStack& row : by_stack(view)) {
    seen.clear();
    for_each_place(*view.profile, row.stack, function, [&](const Location& place, bool is_leaf) {
      AnnotatedAddress& address = rows[{place.module, place.address}];
      address.module = place.module;
      address.address = place.address;
      if (is_leaf) address.self += row.weight;
      if (std::find(seen.begin(), seen.end(), &address) != seen.end()) return;  // recursion
      seen.push_back(&address);
      address.total += row.weight;
    });
  }
  std::vector<AnnotatedAddress> result;
  for (const auto& [key, address] : rows) result.push_back(address);
  return result;
}

// The innermost Python function of each stack has it, if it is the annotated one.
void count_c_for_lines(const View& view, Annotation* annotation) {
  const Profile& profile = *view.profile;
  std::map<std::pair<uint32_t, uint32_t>, Weight> by_line;
  Weight all;
  for (const WeightedStack& row : by_stack(view)) {
    uint32_t at = row.stack;
    while (at != kNone && !is_python(profile.locations[profile.stacks[at].location])) {
      at = profile.stacks[at].prefix;
    }
    if (at == kNone) continue;
    for_each_frame(profile, profile.stacks[at].location, [&](const Frame& frame) {
      if (frame.function != annotation->function.function) return;
      by_line[{frame.file, frame.line}] += row.weight;
      all += row.weight;
    });
  }
  annotation->function.self = all;
  for (FlatRow& line : annotation->lines) line.self = by_line[{line.file, line.line}];
}

}  // namespace

Annotation annotate(const View& view, const std::string& name) {
  const std::vector<FlatRow> functions = functions_called(view, name);
  Annotation annotation;
  annotation.function = functions.front();
  annotation.all = total_weight(view);
  for (size_t i = 1; i < functions.size(); ++i) {
    annotation.others.push_back(functions[i].function);
  }
  for (const FlatRow& row : flat_table(view, By::kLine)) {
    if (row.function == annotation.function.function) annotation.lines.push_back(row);
  }
  const StringTable& strings = view.profile->strings;
  std::sort(annotation.lines.begin(), annotation.lines.end(),
            [&](const FlatRow& a, const FlatRow& b) {
              return std::tie(strings[a.file], a.line) < std::tie(strings[b.file], b.line);
            });
  const uint32_t function = annotation.function.function;
  annotation.addresses = addresses_of(view, function);
  annotation.is_python = function_kinds(*view.profile)[function] == FunctionKind::kPython;
  if (annotation.is_python) count_c_for_lines(view, &annotation);
  return annotation;
}

}  // namespace sampan::profile
