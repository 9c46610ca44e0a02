#include "profile/heap_tables.h"

#include <algorithm>
#include <map>
#include <utility>

#include "profile/function_shares.h"
#include "profile/own_functions.h"

namespace sampan::profile {
namespace {

// The end of the selected time, or of the recording.
SessionNs last_of(const View& view) {
  return std::min(view.to_ns, view.profile->duration_ns());
}

}  // namespace

SessionNs middle_of(const View& view) {
  const SessionNs end_ns = last_of(view);
  return view.from_ns + end_ns.since(view.from_ns) / 2;
}

std::vector<HeapFunction> heap_functions(const View& view, HeapPart first) {
  OwnFunctions own(*view.profile);
  StackFunctions all(*view.profile, ShareOf::kTotal);
  std::map<uint32_t, HeapFunction> by_function;
  for_each_block(view, [&](uint32_t index, const Block& block) {
    const bool lives = is_in(*view.profile, index, HeapPart::kLive, view.to_ns);
    const bool is_new = is_in(*view.profile, index, HeapPart::kAllocated, view.to_ns);
    if (!lives && !is_new) return;
    HeapFunction& self = by_function[own.of(block.stack)];
    if (lives) self.live.add(block);
    if (is_new) self.allocated.add(block);
    for (const uint32_t function : all.of(block.stack)) {
      HeapFunction& row = by_function[function];
      if (lives) row.live_total.add(block);
      if (is_new) row.allocated_total.add(block);
    }
  });
  std::vector<HeapFunction> rows;
  for (auto& [function, row] : by_function) {
    row.function = function;
    rows.push_back(row);
  }
  std::ranges::stable_sort(rows, std::ranges::greater(), [first](const HeapFunction& row) {
    const auto key = [](const Estimate& self, const Estimate& total) {
      return std::pair(self.bytes, total.bytes);
    };
    const std::pair live = key(row.live, row.live_total);
    const std::pair allocated = key(row.allocated, row.allocated_total);
    return first == HeapPart::kLive ? std::pair(live, allocated) : std::pair(allocated, live);
  });
  return rows;
}

std::vector<PossibleLeak> possible_leaks(const View& view) {
  if (!live_is_known(*view.profile)) return {};
  const SessionNs middle_ns = middle_of(view);
  struct Sums {
    PossibleLeak leak;
    double early_bytes = 0;  // whether they live or not
  };
  std::map<uint32_t, Sums> by_stack;
  for_each_block(view, [&](uint32_t index, const Block& block) {
    Sums& sums = by_stack[block.stack];
    const bool is_early = block.time_ns < middle_ns,
               lives = is_in(*view.profile, index, HeapPart::kLive, view.to_ns);
    if (is_early) sums.early_bytes += drawn(block).bytes;
    if (!lives) return;
    if (is_early && sums.leak.early.draws == 0) sums.leak.first_ns = block.time_ns;
    (is_early ? sums.leak.early : sums.leak.late).add(block);
  });
  std::vector<PossibleLeak> leaks;
  for (auto& [stack, sums] : by_stack) {
    if (sums.leak.early.draws == 0) continue;
    sums.leak.stack = stack;
    sums.leak.survived = sums.early_bytes > 0 ? sums.leak.early.bytes / sums.early_bytes : 0;
    leaks.push_back(sums.leak);
  }
  std::ranges::stable_sort(leaks, std::ranges::greater(),
                           [](const PossibleLeak& row) { return row.early.bytes; });
  return leaks;
}

std::vector<Growth> heap_growth(const View& view) {
  const Profile& profile = *view.profile;
  if (!live_is_known(profile)) return {};
  const SessionNs middle_ns = middle_of(view);
  struct Sums {
    Growth growth;
    Estimate changed;  // the draws that live at one of the two times
  };
  std::map<uint32_t, Sums> by_function;
  OwnFunctions own(profile);
  for_each_block(view, [&](uint32_t index, const Block& block) {
    const bool after = is_in(profile, index, HeapPart::kLive, view.to_ns);
    const bool before = block.time_ns <= middle_ns && end_of(profile, block) > middle_ns;
    if (!before && !after) return;
    Sums& sums = by_function[own.of(block.stack)];
    const double bytes = drawn(block).bytes;
    if (before) sums.growth.before_bytes += bytes;
    if (after) sums.growth.after_bytes += bytes;
    if (before != after) sums.changed.add(block);
  });
  std::vector<Growth> rows;
  for (auto& [function, sums] : by_function) {
    sums.growth.function = function;
    sums.growth.error_bytes = sums.changed.bytes_error();
    if (sums.changed.draws != 0) rows.push_back(sums.growth);
  }
  std::ranges::stable_sort(rows, std::ranges::greater(),
                           [](const Growth& row) { return row.bytes(); });
  return rows;
}

std::vector<FreedBy> freed_by(const View& view) {
  OwnFunctions own(*view.profile);
  std::map<std::pair<uint32_t, uint32_t>, FreedBy> by_pair;
  for_each_block(view, [&](uint32_t, const Block& block) {
    if (block.freed_ns > view.to_ns || block.freed_ns == UINT64_MAX) return;
    const uint32_t allocating = own.of(block.stack);
    const uint32_t freeing = own.of(block.freeing_stack);
    FreedBy& row = by_pair[{allocating, freeing}];
    row.allocating = allocating;
    row.freeing = freeing;
    row.freed.add(block);
  });
  std::vector<FreedBy> rows;
  for (const auto& [pair, row] : by_pair) rows.push_back(row);
  std::ranges::stable_sort(rows, std::ranges::greater(),
                           [](const FreedBy& row) { return row.freed.bytes; });
  return rows;
}

}  // namespace sampan::profile
