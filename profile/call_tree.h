// Call trees of a view: their nodes are functions, inlined ones too.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/interner.h"
#include "profile/frames.h"
#include "profile/view.h"
#include "profile/weights.h"

namespace sampan::profile {

// What makes two frames under the same parent the same node.
enum class Granularity {
  kFunction,
  kLine,      // function, file and line
  kLocation,  // the address, and the function among those inlined there
};

struct CallNode {
  uint32_t parent = kNone;
  uint32_t function = kNone;  // kNone: the root, and frames of a profile without symbols
  uint32_t location = kNone;  // of the first frame that made the node; with kLocation, of all
  uint32_t file = 0;          // string; with kLine and kLocation
  uint32_t line = 0;          // the same
  Weight self = {};           // samples whose stack ends here
  Weight total = {};          // self and all below
};

// Parents come before their children. Node 0 is the root: it has no function, and its total is the
// view's. Samples without a stack are the root's self weight.
class CallTree {
 public:
  const CallNode& operator[](uint32_t node) const { return nodes_[node]; }
  size_t size() const { return nodes_.size(); }
  // Heaviest total first; nodes of the same weight stay in the order of their first stack.
  std::span<const uint32_t> children(uint32_t node) const;

  // To build a tree: the child of `parent` for a frame, old or new.
  explicit CallTree(Granularity granularity);
  uint32_t child(uint32_t parent, const Frame& frame);
  void add_self(uint32_t node, const Weight& weight) { nodes_[node].self += weight; }
  // After the last add_self: computes the totals and the order of the children.
  void finish();

 private:
  struct Key {
    uint64_t parent_and_function, place;
    friend bool operator==(const Key&, const Key&) = default;
    uint64_t hash() const { return mix_bits(parent_and_function ^ mix_bits(place)); }
  };

  Granularity granularity_;
  std::vector<CallNode> nodes_;
  Interner<Key> keys_;                 // of the nodes
  std::vector<uint32_t> first_child_;  // into child_list_; by node, and one more
  std::vector<uint32_t> child_list_;
};

// From the threads' roots to the functions that used the time.
CallTree call_tree(const View& view, Granularity granularity = Granularity::kFunction);
// The same for stacks that are summed up already, one row per stack.
CallTree call_tree(const Profile& profile, std::span<const WeightedStack> stacks,
                   Granularity granularity = Granularity::kFunction);

// From functions to their callers: the children of the root are the functions that `matches`
// accepts, and below each are its callers. A sample counts once, at the match nearest to its leaf. A
// node's self weight is that of the stacks that begin there: they have no caller.
CallTree callers_tree(const View& view, const std::function<bool(uint32_t function)>& matches,
                      Granularity granularity = Granularity::kFunction);
CallTree callers_tree(const Profile& profile, std::span<const WeightedStack> stacks,
                      const std::function<bool(uint32_t function)>& matches,
                      Granularity granularity = Granularity::kFunction);

// From functions to what they call: the children of the root are the functions that `matches`
// accepts, and below each are its callees. A sample counts once, at the match nearest to its root.
CallTree callees_tree(const Profile& profile, std::span<const WeightedStack> stacks,
                      const std::function<bool(uint32_t function)>& matches,
                      Granularity granularity = Granularity::kFunction);

}  // namespace sampan::profile
