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
  std::vector<WeightedStack> rows;
  rows.reserve(view.samples.size());
  for (const uint32_t index : view.samples) {
    const Sample& sample = view.profile->samples[index];
    rows.push_back({kNone, sample.stack, {sample.weight_ns, 1}});
  }
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return a.stack < b.stack; });
  merge_sorted(&rows);
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
