#include "exporters/page_parts.h"

#include <algorithm>
#include <utility>

#include "profile/frames.h"

namespace sampan::exporters {
namespace {

using profile::FunctionKind;
using profile::kNone;
using Kind = PageColumn::Kind;

bool is_inlined(const profile::Profile& profile, const profile::CallNode& node) {
  bool inlined = false;
  profile::for_each_frame(profile, node.location, [&](const profile::Frame& frame) {
    if (frame.function == node.function && frame.line == node.line) inlined |= frame.inlined;
  });
  return inlined;
}

}  // namespace

PageTables::PageTables(const profile::Profile& profile)
    : profile_(profile),
      kinds_(profile::function_kinds(profile)),
      nodes_(profile, profile::Granularity::kLine),
      function_handles_(profile.functions.size() + 1),
      module_handles_(profile.modules.size()),
      string_handles_(profile.strings.size(), kNone) {
  string_handles_[0] = 0;
}

std::vector<PageColumn> PageTables::columns() {
  std::vector<PageColumn> columns = stack_columns();
  for (PageColumn& column : function_columns()) columns.push_back(std::move(column));
  return columns;
}

std::vector<PageColumn> PageTables::stack_columns() {
  PageColumn prefix("stacks.prefix"), func("stacks.func"), line("stacks.line"),
      inlined("stacks.inlined", Kind::kFlags);
  const profile::CallTree& tree = nodes_.tree();
  for (uint32_t i = 1; i < tree.size(); ++i) {
    const profile::CallNode& node = tree[i];
    prefix.add(int64_t{node.parent} - 1);
    func.add(function(node));
    line.add(node.line);
    inlined.add(is_inlined(profile_, node));
  }
  return {std::move(prefix), std::move(func), std::move(line), std::move(inlined)};
}

std::vector<PageColumn> PageTables::function_columns() {
  PageColumn name("functions.name"), file("functions.file"), line("functions.line"),
      in_module("functions.module"), wait("functions.wait", Kind::kFlags),
      python("functions.python", Kind::kFlags);
  for (const Function& row : functions_) {
    const bool known = row.function != kNone;
    const profile::Function function =
        known ? profile_.functions[row.function] : profile::Function{};
    if (known) {
      name.add(string(function.name));
    } else {
      name.add(static_cast<int64_t>(strings_.size()));
      strings_.push_back(profile::function_name(profile_, kNone));
    }
    file.add(string(function.file));
    line.add(function.line);
    in_module.add(module(function.module));
    wait.add(row.kind == FunctionKind::kWait);
    python.add(row.kind == FunctionKind::kPython);
  }
  return {std::move(name),      std::move(file), std::move(line),
          std::move(in_module), std::move(wait), std::move(python)};
}

uint32_t PageTables::function(const profile::CallNode& node) {
  const auto unknown = static_cast<uint32_t>(profile_.functions.size());
  const auto [handle, is_new] = function_handles_.number(std::min(node.function, unknown));
  if (is_new) {
    const bool known = node.function != kNone;
    functions_.push_back({node.function, known ? kinds_[node.function] : FunctionKind::kNative});
  }
  return handle;
}

uint32_t PageTables::string(uint32_t of_profile) {
  uint32_t& handle = string_handles_[of_profile];
  if (handle == kNone) {
    handle = static_cast<uint32_t>(strings_.size());
    strings_.push_back(profile_.strings[of_profile]);
  }
  return handle;
}

int64_t PageTables::module(uint32_t of_profile) {
  return of_profile == kNone ? -1 : int64_t{module_handles_.number(of_profile).handle};
}

}  // namespace sampan::exporters
