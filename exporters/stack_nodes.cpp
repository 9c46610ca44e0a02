#include "exporters/stack_nodes.h"

namespace sampan::exporters {

using profile::CallTree;
using profile::Frame;
using profile::kNone;

StackNodes::StackNodes(const profile::Profile& profile, profile::Granularity granularity)
    : profile_(profile),
      granularity_(granularity),
      tree_(granularity),
      entries_(profile.stacks.size()) {}

void StackNodes::restart() {
  tree_ = CallTree(granularity_);
  ++round_;
}

uint32_t StackNodes::node(uint32_t stack) {
  if (stack == kNone) return tree_.child(0, Frame{});
  missing_.clear();
  uint32_t known = stack;
  while (known != kNone && entries_[known].round != round_) {
    missing_.push_back(known);
    known = profile_.stacks[known].prefix;
  }
  uint32_t node = known == kNone ? 0 : entries_[known].node;
  for (size_t i = missing_.size(); i-- > 0;) {
    frames_.clear();
    profile::for_each_frame(profile_, profile_.stacks[missing_[i]].location,
                            [&](const Frame& frame) { frames_.push_back(frame); });
    for (size_t j = frames_.size(); j-- > 0;) node = tree_.child(node, frames_[j]);
    entries_[missing_[i]] = {round_, node};
  }
  return node;
}

void for_each_thread_tree(const profile::View& view,
                          const std::vector<profile::WeightedStack>& rows,
                          const std::function<void(size_t, const CallTree&)>& visit,
                          profile::Granularity granularity) {
  StackNodes nodes(*view.profile, granularity);
  size_t row = 0;
  for (size_t position = 0; position < view.threads.size(); ++position) {
    const size_t first = row;
    for (; row < rows.size() && rows[row].thread == view.threads[position]; ++row) {
      const uint32_t node = nodes.node(rows[row].stack);
      nodes.tree().add_self(node, rows[row].weight);
    }
    if (row == first) continue;
    nodes.tree().finish();
    visit(position, nodes.tree());
    nodes.restart();
  }
}

}  // namespace sampan::exporters
