#include <fmt/core.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "base/nearest.h"
#include "profile/call_tree.h"
#include "profile/frames.h"
#include "reports/sections.h"
#include "reports/text.h"
#include "reports/tree_text.h"

namespace sampan::reports {

std::string callers_section(const Context& context) {
  const profile::Profile& profile = context.profile();
  const std::string& wanted = context.options.callers;
  std::vector<bool> matches(profile.functions.size());
  std::vector<std::string_view> names;
  bool found = false;
  for (uint32_t i = 0; i < matches.size(); ++i) {
    names.push_back(function_name(profile, i));
    matches[i] = names.back().find(wanted) != std::string_view::npos;
    found |= matches[i];
  }
  if (!found) {
    throw Error("no function has '{}' in its name{}", wanted, did_you_mean(wanted, names));
  }
  const profile::CallTree tree = callers_tree(context.view, [&](uint32_t function) {
    return function != profile::kNone && matches[function];
  });
  const uint64_t total_ns = tree[0].total.ns;
  return context.style.heading(fmt::format("Callers of '{}': {} s of {} s", printable(wanted),
                                           seconds(total_ns),
                                           seconds(context.summary.total().ns))) +
         "\n" + tree_text(context, tree, {.self = false});
}

}  // namespace sampan::reports
