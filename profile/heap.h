// The heap, estimated from the allocations that were drawn (Profile::blocks).
//
// Each byte that is allocated has the same chance to be drawn. At a mean of R bytes between two draws,
// an allocation of S bytes is drawn with the probability p = 1 - exp(-S / R). It stands for S / p bytes
// in 1 / p blocks; so sums are unbiased (Horvitz and Thompson), and the variance of a sum is estimated
// by the sum of w^2 (1 - p) over the weights w of its draws.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "profile/profile.h"
#include "profile/view.h"

namespace sampan::profile {

// What one draw stands for.
struct Drawn {
  double bytes, blocks;
  double missed;  // 1 - p
};
Drawn drawn(const Block& block);

// A sum over draws.
struct Estimate {
  double bytes = 0, blocks = 0;
  double bytes_variance = 0, blocks_variance = 0;
  uint64_t draws = 0;

  void add(const Block& block);
  // The half widths of the intervals that have the truth with a probability of 95 %, if the draws are
  // not few: below about 20 the interval is too narrow.
  double bytes_error() const;
  double blocks_error() const;
};

// The same profile, whose samples are its blocks, with weights in bytes: by time of allocation. So
// everything that shows samples shows the heap. select() chooses those that live or all. Throws Error
// when nothing of the heap was recorded.
void show_heap(Profile* profile);

// False where frees have passed sampan by: most of their blocks seem to live. Then no block counts as living, and nothing is said
// of peaks, lifetimes, growth and leaks.
bool live_is_known(const Profile& profile);

// Whether a block is in this part of the heap. It lives at `to_ns` if it is not freed by then and its
// process has not ended; at the end of the recording, UINT64_MAX, each process counts as of its own end.
bool is_in(const Profile& profile, uint32_t block, HeapPart part, SessionNs to_ns);
// When a block's memory was given back: by its free or by the end of its process. UINT64_MAX: not in the
// recording.
SessionNs end_of(const Profile& profile, const Block& block);

// The functions below take any view of a heap, and see the blocks of its threads and its time.

// Calls visit(index, block).
template <typename Visit>
void for_each_block(const View& view, const Visit& visit) {
  const Profile& profile = *view.profile;
  std::vector<bool> wanted(profile.threads.size());
  for (const uint32_t thread : view.threads) wanted[thread] = true;
  for (uint32_t i = 0; i < profile.blocks.size(); ++i) {
    const Block& block = profile.blocks[i];
    if (wanted[view.thread_of(block.thread)] &&
        view.meets(block.thread, block.time_ns, block.time_ns)) {
      visit(i, block);
    }
  }
}

// The same view of another part; without one, of all blocks, whether they live or began earlier.
View heap_part(const View& view, std::optional<HeapPart> part);
Estimate estimate(const View& view);

struct HeapTotals {
  Estimate allocated, live;
  bool live_is_known = true;
  double peak_bytes = 0;  // the most that lived at one time
  SessionNs peak_ns = 0;
  // How long blocks lived that were freed: half of them, and nine of ten, no longer than this. Absent
  // without any.
  std::optional<uint64_t> median_life_ns, long_life_ns;
};
HeapTotals heap_totals(const View& view);

// One row per thread and stack, as by_thread_and_stack(), with both parts of the heap.
struct HeapStack {
  uint32_t thread = kNone, stack = kNone;
  Estimate allocated, live;
};
std::vector<HeapStack> heap_stacks(const View& view);

}  // namespace sampan::profile
