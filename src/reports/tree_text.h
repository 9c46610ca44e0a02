// A call tree as lines of text, heaviest branch first.
//
// Where a branch does not fork, its lines stay in one column, so that a deep stack does not wander
// off to the right; `×3` is direct recursion. Below a fork:
//
//    5.00  100.0  main
//    3.00   60.0  ├ compress
//    3.00   60.0  │ deflate
//    2.00   40.0  └ checksum
#pragma once

#include <string>

#include "profile/call_tree.h"
#include "reports/sections.h"

namespace sampan::reports {

struct TreeTextOptions {
  bool self = true;  // a column with the self share
};

// With a line of titles; below the root, which is not shown itself.
std::string tree_text(const Context& context, const profile::CallTree& tree,
                      const TreeTextOptions& options);

}  // namespace sampan::reports
