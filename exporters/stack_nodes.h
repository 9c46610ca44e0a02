// Which node of a call tree a stack ends in. Stacks share their prefixes, and a prefix is walked
// once: the cost is that of the stacks' nodes, not of their depths.
//
// Samples of which nothing is known (stack kNone) end in a frame without function, "[unknown]".
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

  // Adds the stack to the tree when it is not there.
  uint32_t node(uint32_t stack);
  profile::CallTree& tree() { return tree_; }
  // Begins a new, empty tree.
  void restart();

 private:
  struct Entry {
    uint32_t round = 0;  // the tree that `node` is of: each restart() begins a round
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

// Calls visit with a call tree of each thread that has rows, which are those of
// by_thread_and_stack(): its position in view.threads, and the tree, whose root stands for the
// thread.
void for_each_thread_tree(const profile::View& view,
                          const std::vector<profile::WeightedStack>& rows,
                          const std::function<void(size_t, const profile::CallTree&)>& visit,
                          profile::Granularity granularity = profile::Granularity::kFunction);

}  // namespace sampan::exporters
