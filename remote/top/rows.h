// The parts of content.h: rows of threads, of functions, and of trees. Sorted as chosen.
#pragma once

#include <span>
#include <vector>

#include "top/content.h"

namespace sampan::top {

// Whether a stack is one of a thread that waits.
bool waits(const profile::Profile& profile, uint32_t stack);

// `weights` by thread and stack, in this order. Threads that have ended are there when they have
// samples.
std::vector<ThreadRow> thread_rows(const History& history, const Choices& choices,
                                   std::span<const profile::WeightedStack> weights);

// These by stack, of the scope and since the start.
std::vector<FunctionRow> function_rows(const profile::Profile& profile, const Choices& choices,
                                       std::span<const profile::WeightedStack> stacks,
                                       std::span<const profile::WeightedStack> since_start);

// The open nodes. Those with at least a twentieth of the whole are open by themselves.
std::vector<TreeRow> tree_rows(const profile::Profile& profile, const Choices& choices,
                               std::span<const profile::WeightedStack> stacks);
// Callers, the nearest last; the function; its callees.
std::vector<TreeRow> sandwich_rows(const profile::Profile& profile, const Choices& choices,
                                   std::span<const profile::WeightedStack> stacks);

}  // namespace sampan::top
