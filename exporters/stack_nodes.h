// Maps stacks to the nodes of a call tree. Each prefix that stacks share is walked once, so the
// cost depends on the number of nodes, not on the depths of the stacks.
//
// Samples without a stack (kNone) end in a frame without function, "[unknown]".
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "profile/call_tree.h"
#include "profile/weights.h"

namespace sampan::exporters {

class StackNodes {
 public:
  explicit StackNodes(const profile::Profile& profile,
                      profile::Granularity granularity = profile::Granularity::kFunction);

  // Adds the stack to the tree if it is not there yet.
  uint32_t node(uint32_t stack);
  profile::CallTree& tree() { return tree_; }
  // Begins a new, empty tree.
  void restart();

 private:
  struct Entry {
    uint32_t round = 0;  // which tree `node` is in: each restart() begins a round
    uint32_t node = 0;
  };

  const profile::Profile& profile_;
  profile::Granularity granularity_;
  profile::CallTree tree_;
  uint32_t round_ = 1;
  std::vector<Entry> entries_;          // by stack
  std::vector<uint32_t> missing_;       // scratch: stacks to add, leaf first
  std::vector<profile::Frame> frames_;  // scratch
};

// Calls visit(position, tree) for each thread with rows, which are those of by_thread_and_stack():
// its position in view.threads and its call tree, whose root stands for the thread.
void for_each_thread_tree(const profile::View& view,
                          const std::vector<profile::WeightedStack>& rows,
                          const std::function<void(size_t, const profile::CallTree&)>& visit,
                          profile::Granularity granularity = profile::Granularity::kFunction);

}  // namespace sampan::exporters
