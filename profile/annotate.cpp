#include "profile/annotate.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/nearest.h"
#include "profile/frames.h"

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

// How well a name matches the query; 0: it does not.
int fit(std::string_view wanted, std::string_view name) {
  const std::string_view bare = without_parameters(name);
  if (name == wanted) return 4;
  if (bare == wanted) return 3;
  if (last_part(bare) == wanted) return 2;
  return name.find(wanted) != name.npos ? 1 : 0;
}

// The rows that match best, most self time first.
std::vector<FlatRow> functions_called(const View& view, const std::string& wanted) {
  const Profile& profile = *view.profile;
  std::vector<FlatRow> best;
  int best_fit = 1;
  std::vector<std::string> known;
  for (const FlatRow& row : flat_table(view)) {
    if (row.function == kNone) continue;
    const std::string_view name = function_name(profile, row.function);
    known.emplace_back(last_part(without_parameters(name)));
    const int how = fit(wanted, name);
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
  annotation.addresses = addresses_of(view, annotation.function.function);
  return annotation;
}

}  // namespace sampan::profile
