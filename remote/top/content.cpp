#include "remote/top/content.h"

#include "profile/view.h"
#include "remote/top/rows.h"

namespace sampan::top {

using profile::kNone;
using profile::WeightedStack;

uint64_t Content::id(size_t row) const {
  if (row < threads.size()) return threads[row].id;
  if (row < functions.size()) return functions[row].id;
  return tree[row].id;
}

const std::string& Content::name(size_t row) const {
  if (row < threads.size()) return threads[row].name;
  if (row < functions.size()) return functions[row].name;
  return tree[row].name;
}

bool waits(const profile::Profile& profile, uint32_t stack) {
  return stack != kNone && profile.locations[profile.stacks[stack].location].wait != kNone;
}

namespace {

bool is_chosen(const profile::Profile& profile, const Choices& choices, uint32_t thread) {
  if (!choices.chosen) return true;
  const Chosen& chosen = *choices.chosen;
  if (chosen.thread != kNone) return thread == chosen.thread;
  const profile::Thread& row = profile.threads[thread];
  return row.process == chosen.process && profile::pool_name(row.name) == chosen.pool;
}

}  // namespace

// The stacks of the chosen threads and clock, one row for each stack.
std::vector<WeightedStack> chosen_stacks(const profile::Profile& profile, const Choices& choices,
                                         const std::vector<WeightedStack>& weights) {
  std::vector<WeightedStack> rows;
  std::vector<uint32_t> row_of(profile.stacks.size(), kNone);
  profile::Weight unknown;
  for (const WeightedStack& row : weights) {
    if (!is_chosen(profile, choices, row.thread)) continue;
    if (choices.clock == Clock::kCpu && waits(profile, row.stack)) continue;
    if (row.stack == kNone) {
      unknown += row.weight;
      continue;
    }
    uint32_t& place = row_of[row.stack];
    if (place == kNone) {
      place = static_cast<uint32_t>(rows.size());
      rows.push_back({kNone, row.stack, {}});
    }
    rows[place].weight += row.weight;
  }
  if (unknown.samples != 0) rows.push_back({kNone, kNone, unknown});
  return rows;
}

Content content_of(const History& history, const Choices& choices) {
  const profile::Profile& profile = history.profile();
  Content content;
  content.span_ns = history.span_ns(choices.scope);
  const std::vector<WeightedStack> weights = history.weights(choices.scope);
  for (const WeightedStack& row : weights) {
    if (!waits(profile, row.stack)) content.cpu_ns += row.weight.ns;
  }
  std::vector<ThreadRow> threads = thread_rows(history, choices, weights);
  for (const ThreadRow& row : threads) {
    content.live += row.state == ThreadState::kEnded ? 0 : row.threads;
    content.running += row.running;
  }
  const std::vector<WeightedStack> stacks = chosen_stacks(profile, choices, weights);
  for (const WeightedStack& row : stacks) content.total += row.weight;
  switch (choices.look) {
    case Look::kThreads: content.threads = std::move(threads); break;
    case Look::kFunctions:
      content.functions =
          function_rows(profile, choices, stacks,
                        choices.scope == Scope::kStart
                            ? stacks
                            : chosen_stacks(profile, choices, history.weights(Scope::kStart)));
      break;
    case Look::kTree: content.tree = tree_rows(profile, choices, stacks); break;
    case Look::kSandwich: content.tree = sandwich_rows(profile, choices, stacks); break;
  }
  return content;
}

std::string chosen_name(const History& history, const Choices& choices) {
  if (!choices.chosen) return "all threads";
  const Chosen& chosen = *choices.chosen;
  if (chosen.thread == kNone) return "pool " + chosen.pool;
  const profile::Thread& thread = history.profile().threads[chosen.thread];
  return "thread " + std::to_string(thread.tid) + " " + thread.name;
}

}  // namespace sampan::top
