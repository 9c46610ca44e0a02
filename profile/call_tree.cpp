#include "profile/call_tree.h"

#include <algorithm>
#include <numeric>

namespace sampan::profile {
namespace {

// By function. Unknown functions never match.
class Matches {
 public:
  Matches(const Profile& profile, const std::function<bool(uint32_t function)>& matches)
      : wanted_(profile.functions.size()) {
    for (uint32_t i = 0; i < wanted_.size(); ++i) wanted_[i] = matches(i);
  }
  bool operator()(const Frame& frame) const {
    return frame.function != kNone && wanted_[frame.function];
  }

 private:
  std::vector<bool> wanted_;
};

// A path for each stack: its frames from the first that matches on, in the order of `frames_of`.
template <typename FramesOf>
CallTree tree_from(const Profile& profile, std::span<const WeightedStack> stacks,
                   const Matches& matches, Granularity granularity, FramesOf frames_of) {
  CallTree tree(granularity);
  std::vector<Frame> frames;
  for (const WeightedStack& row : stacks) {
    frames_of(profile, row.stack, &frames);
    const auto match = std::find_if(frames.begin(), frames.end(), matches);
    if (match == frames.end()) continue;
    uint32_t node = 0;
    for (auto frame = match; frame != frames.end(); ++frame) node = tree.child(node, *frame);
    tree.add_self(node, row.weight);
  }
  tree.finish();
  return tree;
}

}  // namespace

CallTree::CallTree(Granularity granularity) : granularity_(granularity), nodes_(1) {
  keys_.intern(Key{UINT64_MAX, UINT64_MAX});  // the root's: no child has it
}

uint32_t CallTree::child(uint32_t parent, const Frame& frame) {
  Key key{uint64_t{parent} << 32 | frame.function, 0};
  if (granularity_ == Granularity::kLine) key.place = uint64_t{frame.file} << 32 | frame.line;
  if (granularity_ == Granularity::kLocation || frame.function == kNone) key.place = frame.location;

  const auto [node, is_new] = keys_.intern(key);
  if (!is_new) return node;
  nodes_.push_back({.parent = parent, .function = frame.function, .location = frame.location});
  if (granularity_ != Granularity::kFunction) {
    nodes_.back().file = frame.file;
    nodes_.back().line = frame.line;
  }
  return node;
}

void CallTree::finish() {
  for (CallNode& node : nodes_) node.total = node.self;
  for (size_t i = nodes_.size() - 1; i > 0; --i) nodes_[nodes_[i].parent].total += nodes_[i].total;

  first_child_.assign(nodes_.size() + 1, 0);
  for (uint32_t node = 1; node < nodes_.size(); ++node) ++first_child_[nodes_[node].parent + 1];
  std::partial_sum(first_child_.begin(), first_child_.end(), first_child_.begin());
  std::vector<uint32_t> next(first_child_.begin(), first_child_.end() - 1);
  child_list_.resize(nodes_.size() - 1);
  for (uint32_t node = 1; node < nodes_.size(); ++node) {
    child_list_[next[nodes_[node].parent]++] = node;
  }
  for (uint32_t node = 0; node < nodes_.size(); ++node) {
    if (first_child_[node + 1] - first_child_[node] < 2) continue;
    std::stable_sort(child_list_.begin() + first_child_[node],
                     child_list_.begin() + first_child_[node + 1], [&](uint32_t a, uint32_t b) {
                       const Weight &x = nodes_[a].total, &y = nodes_[b].total;
                       return x.ns != y.ns ? x.ns > y.ns : x.samples > y.samples;
                     });
  }
}

std::span<const uint32_t> CallTree::children(uint32_t node) const {
  return std::span(child_list_)
      .subspan(first_child_[node], first_child_[node + 1] - first_child_[node]);
}

CallTree call_tree(const View& view, Granularity granularity) {
  return call_tree(*view.profile, by_stack(view), granularity);
}

CallTree call_tree(const Profile& profile, std::span<const WeightedStack> weights,
                   Granularity granularity) {
  std::vector<bool> used(profile.stacks.size());
  for (const WeightedStack& row : weights) {
    if (row.stack != kNone) used[row.stack] = true;
  }
  for (size_t stack = used.size(); stack-- > 0;) {
    if (used[stack] && profile.stacks[stack].prefix != kNone) {
      used[profile.stacks[stack].prefix] = true;
    }
  }

  // A stack's prefix is below it, so its node is already known: no stack is walked twice.
  CallTree tree(granularity);
  std::vector<uint32_t> node_of(profile.stacks.size(), 0);
  std::vector<Frame> frames;
  for (size_t stack = 0; stack < used.size(); ++stack) {
    if (!used[stack]) continue;
    const Stack& row = profile.stacks[stack];
    uint32_t node = row.prefix == kNone ? 0 : node_of[row.prefix];
    frames.clear();
    for_each_frame(profile, row.location, [&](const Frame& frame) { frames.push_back(frame); });
    for (size_t i = frames.size(); i-- > 0;) node = tree.child(node, frames[i]);
    node_of[stack] = node;
  }
  for (const WeightedStack& row : weights) {
    tree.add_self(row.stack == kNone ? 0 : node_of[row.stack], row.weight);
  }
  tree.finish();
  return tree;
}

CallTree callers_tree(const View& view, const std::function<bool(uint32_t function)>& matches,
                      Granularity granularity) {
  return callers_tree(*view.profile, by_stack(view), matches, granularity);
}

CallTree callers_tree(const Profile& profile, std::span<const WeightedStack> stacks,
                      const std::function<bool(uint32_t function)>& matches,
                      Granularity granularity) {
  return tree_from(profile, stacks, Matches(profile, matches), granularity, leaf_to_root);
}

CallTree callees_tree(const Profile& profile, std::span<const WeightedStack> stacks,
                      const std::function<bool(uint32_t function)>& matches,
                      Granularity granularity) {
  return tree_from(profile, stacks, Matches(profile, matches), granularity, root_to_leaf);
}

}  // namespace sampan::profile
