#include <algorithm>

#include "profile/call_tree.h"
#include "profile/flat.h"
#include "profile/frames.h"
#include "remote/top/rows.h"

namespace sampan::top {
namespace {

using profile::CallTree;
using profile::kNone;
using Part = TreeRow::Part;

// Nodes with at least a twentieth of the whole are open by default.
constexpr uint64_t kOpenShare = 20;
constexpr size_t kMaxRows = 10'000;
constexpr unsigned kMaxDepth = 500;

// Identifies a node in all refreshes by the functions on the way to it.
uint64_t node_id(uint64_t parent, uint32_t function) {
  uint64_t hash = parent ^ (uint64_t{function} + 0x9e3779b97f4a7c15);
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccd;
  return hash ^ (hash >> 29);
}

struct Walk {
  const profile::Profile& profile;
  const Choices& choices;
  const CallTree& tree;
  uint64_t whole_ns;
  std::vector<TreeRow>* rows;

  bool is_open(uint64_t id, uint32_t node) const {
    if (const auto found = choices.open.find(id); found != choices.open.end()) return found->second;
    return tree[node].total.ns * kOpenShare >= whole_ns;
  }

  TreeRow row_of(uint32_t node, uint64_t id, unsigned depth, Part part) const {
    TreeRow row;
    row.id = id;
    row.part = part;
    row.depth = depth;
    row.function = tree[node].function;
    row.name = profile::function_name(profile, row.function);
    row.self = tree[node].self;
    row.total = tree[node].total;
    row.has_children = !tree.children(node).empty();
    row.is_open = row.has_children && is_open(id, node);
    return row;
  }

  // A branch that does not fork stays in one column.
  void below(uint32_t node, uint64_t id, unsigned depth, Part part, unsigned level = 0) const {
    if (tree.children(node).size() > 1) ++depth;
    for (const uint32_t child : tree.children(node)) {
      if (rows->size() >= kMaxRows || level > kMaxDepth) return;
      const uint64_t child_id = node_id(id, tree[child].function);
      rows->push_back(row_of(child, child_id, depth, part));
      if (rows->back().is_open) below(child, child_id, depth, part, level + 1);
    }
  }
};

}  // namespace

std::vector<TreeRow> tree_rows(const profile::Profile& profile, const Choices& choices,
                               std::span<const profile::WeightedStack> stacks) {
  const auto any = [](uint32_t) { return true; };
  const CallTree tree = choices.inverted ? profile::callers_tree(profile, stacks, any)
                                         : profile::call_tree(profile, stacks);
  std::vector<TreeRow> rows;
  Walk{profile, choices, tree, tree[0].total.ns, &rows}.below(0, choices.inverted, 0, Part::kTree);
  return rows;
}

std::vector<TreeRow> sandwich_rows(const profile::Profile& profile, const Choices& choices,
                                   std::span<const profile::WeightedStack> stacks) {
  const uint32_t focus = choices.focus;
  if (focus == kNone) return {};
  const auto is_it = [focus](uint32_t function) { return function == focus; };
  const CallTree callers = profile::callers_tree(profile, stacks, is_it);
  const CallTree callees = profile::callees_tree(profile, stacks, is_it);

  std::vector<TreeRow> rows;
  TreeRow middle;
  middle.id = focus;
  middle.part = Part::kFunction;
  middle.function = focus;
  middle.name = profile::function_name(profile, focus);
  for (const uint32_t node : callers.children(0)) {  // at most one
    middle.total = callers[node].total;
    Walk{profile, choices, callers, middle.total.ns, &rows}.below(node, 2, 1, Part::kCaller);
  }
  std::reverse(rows.begin(), rows.end());
  const size_t place = rows.size();
  rows.push_back(middle);
  for (const uint32_t node : callees.children(0)) {
    std::vector<TreeRow> below;
    Walk{profile, choices, callees, middle.total.ns, &below}.below(node, 3, 1, Part::kCallee);
    rows.insert(rows.end(), below.begin(), below.end());
  }
  for (const profile::FlatRow& row : profile::flat_table(profile, stacks)) {
    if (row.function == focus) rows[place].self = row.self;
  }
  return rows;
}

}  // namespace sampan::top
