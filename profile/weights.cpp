#include "profile/weights.h"

#include <algorithm>
#include <tuple>

namespace sampan::profile {
namespace {

// Sums adjacent rows of the same thread and stack.
void merge_sorted(std::vector<WeightedStack>* rows) {
  size_t last = 0;
  for (size_t i = 1; i < rows->size(); ++i) {
    WeightedStack& into = (*rows)[last];
    const WeightedStack& row = (*rows)[i];
    if (row.thread == into.thread && row.stack == into.stack && row.label == into.label) {
      into.weight += row.weight;
    } else {
      (*rows)[++last] = row;
    }
  }
  if (!rows->empty()) rows->resize(last + 1);
}

}  // namespace

std::vector<WeightedStack> by_stack(const View& view) {
  std::vector<Weight> by_row(view.profile->stacks.size());
  Weight without_stack;
  for (const uint32_t index : view.samples) {
    const Sample& sample = view.profile->samples[index];
    (sample.stack == kNone ? without_stack : by_row[sample.stack]) += {sample.weight_ns, 1};
  }
  std::vector<WeightedStack> rows;
  for (uint32_t stack = 0; stack < by_row.size(); ++stack) {
    if (by_row[stack].samples != 0) rows.push_back({kNone, stack, by_row[stack]});
  }
  if (without_stack.samples != 0) rows.push_back({kNone, kNone, without_stack});
  return rows;
}

std::vector<WeightedStack> by_thread_and_stack(const View& view,
                                               const std::vector<uint32_t>& labels) {
  std::vector<uint32_t> rank(view.profile->threads.size(), kNone);
  for (size_t i = 0; i < view.threads.size(); ++i) {
    rank[view.threads[i]] = static_cast<uint32_t>(i);
  }
  std::vector<WeightedStack> rows;
  rows.reserve(view.samples.size());
  for (size_t i = 0; i < view.samples.size(); ++i) {
    const Sample& sample = view.profile->samples[view.samples[i]];
    rows.push_back({view.thread_of(sample.thread),
                    sample.stack,
                    {sample.weight_ns, 1},
                    labels.empty() ? 0 : labels[i]});
  }
  std::sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) {
    return std::tuple(rank[a.thread], a.label, a.stack) <
           std::tuple(rank[b.thread], b.label, b.stack);
  });
  merge_sorted(&rows);
  return rows;
}

Weight total_weight(const View& view) {
  Weight total;
  for (const uint32_t index : view.samples) total += {view.profile->samples[index].weight_ns, 1};
  return total;
}

}  // namespace sampan::profile
