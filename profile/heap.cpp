#include "profile/heap.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "profile/shown.h"
#include "profile/statistics.h"
#include "profile/unit.h"

namespace sampan::profile {
namespace {

// A weight that sums of a recording do not wrap with, whatever an input claims.
constexpr double kMostBytes = 1e15;

struct HeapChange {
  SessionNs time_ns;
  double bytes;
};

void find_peak(std::vector<HeapChange> changes, HeapTotals* totals) {
  // What is freed at the moment of an allocation is counted as freed before it.
  std::ranges::sort(changes, {}, [](const HeapChange& row) {
    return std::tuple(uint64_t{row.time_ns}, row.bytes);
  });
  double bytes = 0;
  for (const HeapChange& change : changes) {
    bytes += change.bytes;
    if (bytes <= totals->peak_bytes) continue;
    totals->peak_bytes = bytes;
    totals->peak_ns = change.time_ns;
  }
}

// `lives`: of freed blocks, with the number of blocks that each stands for.
void find_lives(std::vector<std::pair<uint64_t, double>> lives, HeapTotals* totals) {
  std::ranges::sort(lives);
  double all = 0, so_far = 0;
  for (const auto& [ns, blocks] : lives) all += blocks;
  for (const auto& [ns, blocks] : lives) {
    so_far += blocks;
    if (!totals->median_life_ns && so_far >= 0.5 * all) totals->median_life_ns = ns;
    if (!totals->long_life_ns && so_far >= 0.9 * all) totals->long_life_ns = ns;
  }
}

}  // namespace

Drawn drawn(const Block& block) {
  if (block.size == 0 || block.mean == 0) return {0, 0, 0};
  const double size = std::min(static_cast<double>(block.size), kMostBytes);
  const double ratio = size / static_cast<double>(block.mean);
  const double probability = -std::expm1(-ratio);
  return {std::min(size / probability, kMostBytes), 1 / probability, std::exp(-ratio)};
}

void Estimate::add(const Block& block) {
  const Drawn row = drawn(block);
  bytes += row.bytes;
  blocks += row.blocks;
  bytes_variance += row.bytes * row.bytes * row.missed;
  blocks_variance += row.blocks * row.blocks * row.missed;
  ++draws;
}

double Estimate::bytes_error() const {
  return error_95(bytes_variance);
}
double Estimate::blocks_error() const {
  return error_95(blocks_variance);
}

void show_heap(Profile* profile) {
  if (!profile->can_show(Shown::kHeap)) {
    throw Error(
        "nothing of the heap is in the recording: record with `sampan run --heap` or `sampan serve "
        "--heap -- COMMAND`");
  }
  replace_samples(profile, Shown::kHeap, "bytes");
  for (const Block& block : profile->blocks) {
    const auto weight =
        static_cast<uint64_t>(std::llround(drawn(block).bytes * static_cast<double>(kWeightOfOne)));
    add_sample({block.time_ns, weight, block.thread, block.stack, kNone, false}, block.stop,
               profile);
  }
}

SessionNs end_of(const Profile& profile, const Block& block) {
  const std::optional<SessionNs>& end_ns =
      profile.processes[profile.threads[block.thread].process].end_ns;
  return std::min(block.freed_ns, end_ns.value_or(SessionNs(UINT64_MAX)));
}

bool live_is_known(const Profile& profile) {
  const auto index = static_cast<size_t>(wire::Loss::kFreeUnseen);
  return index >= profile.losses.size() || profile.losses[index] == 0;
}

bool is_in(const Profile& profile, uint32_t block, HeapPart part, SessionNs to_ns) {
  const Block& row = profile.blocks[block];
  if (part == HeapPart::kAllocated) return !row.earlier;
  if (!live_is_known(profile)) return false;
  return to_ns == UINT64_MAX ? row.freed_ns == UINT64_MAX : end_of(profile, row) > to_ns;
}

View heap_part(const View& view, std::optional<HeapPart> part) {
  std::vector<uint32_t> samples;
  for_each_block(view, [&](uint32_t index, const Block&) {
    if (!part || is_in(*view.profile, index, *part, view.to_ns)) samples.push_back(index);
  });
  View result = view.part(std::move(samples), view.threads);
  result.heap = part.value_or(view.heap);
  return result;
}

Estimate estimate(const View& view) {
  Estimate sum;
  for (const uint32_t index : view.samples) sum.add(view.profile->blocks[index]);
  return sum;
}

HeapTotals heap_totals(const View& view) {
  const Profile& profile = *view.profile;
  HeapTotals totals;
  std::vector<HeapChange> changes;
  std::vector<std::pair<uint64_t, double>> lives;
  for_each_block(view, [&](uint32_t index, const Block& block) {
    if (is_in(profile, index, HeapPart::kAllocated, view.to_ns)) totals.allocated.add(block);
    if (is_in(profile, index, HeapPart::kLive, view.to_ns)) totals.live.add(block);
    const Drawn row = drawn(block);
    changes.push_back({block.time_ns, row.bytes});
    const SessionNs end_ns = end_of(profile, block);
    if (end_ns <= view.to_ns && end_ns != UINT64_MAX) changes.push_back({end_ns, -row.bytes});
    if (block.freed_ns != UINT64_MAX) {
      lives.emplace_back(block.freed_ns.since(block.time_ns), row.blocks);
    }
  });
  totals.live_is_known = live_is_known(profile);
  if (!totals.live_is_known) return totals;
  find_peak(std::move(changes), &totals);
  find_lives(std::move(lives), &totals);
  return totals;
}

std::vector<HeapStack> heap_stacks(const View& view) {
  std::map<uint32_t, uint32_t> rank;
  for (const uint32_t thread : view.threads) {
    rank.emplace(thread, static_cast<uint32_t>(rank.size()));
  }
  std::map<std::pair<uint32_t, uint32_t>, HeapStack> rows;
  for_each_block(view, [&](uint32_t index, const Block& block) {
    const uint32_t thread = view.thread_of(block.thread);
    HeapStack& row = rows[{rank[thread], block.stack}];
    row.thread = thread;
    row.stack = block.stack;
    if (is_in(*view.profile, index, HeapPart::kAllocated, view.to_ns)) row.allocated.add(block);
    if (is_in(*view.profile, index, HeapPart::kLive, view.to_ns)) row.live.add(block);
  });
  std::vector<HeapStack> sorted;
  for (const auto& [key, row] : rows) sorted.push_back(row);
  return sorted;
}

}  // namespace sampan::profile
