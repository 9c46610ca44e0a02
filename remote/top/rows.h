// Rows of threads, functions and trees, sorted as chosen: the parts of Content.
#pragma once

#include <span>
#include <vector>

#include "remote/top/content.h"

namespace sampan::top {

// Whether a stack belongs to a waiting thread.
bool waits(const profile::Profile& profile, uint32_t stack);

// `weights`: by thread and stack, in this order. Ended threads have a row if they have samples.
std::vector<ThreadRow> thread_rows(const History& history, const Choices& choices,
                                   std::span<const profile::WeightedStack> weights);

// `stacks`, `since_start`: weights by stack in the scope, and since the start.
std::vector<FunctionRow> function_rows(const profile::Profile& profile, const Choices& choices,
                                       std::span<const profile::WeightedStack> stacks,
                                       std::span<const profile::WeightedStack> since_start);

// The visible nodes. Nodes with at least a twentieth of the whole are open by default.
std::vector<TreeRow> tree_rows(const profile::Profile& profile, const Choices& choices,
                               std::span<const profile::WeightedStack> stacks);
// The callers, nearest last; the function; its callees.
std::vector<TreeRow> sandwich_rows(const profile::Profile& profile, const Choices& choices,
                                   std::span<const profile::WeightedStack> stacks);

}  // namespace sampan::top
