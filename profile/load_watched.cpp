#include "profile/load_watched.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/interner.h"
#include "recording/combiner.h"

namespace sampan::profile {
namespace {

using recording::mapped;

// Blocks by process and number.
class BlockLoader {
 public:
  BlockLoader(const recording::Recording& from, const std::vector<uint32_t>& stacks,
              Profile* profile)
      : from_(from), stacks_(stacks), profile_(*profile) {}

  void load() {
    for (const recording::Allocation& row : from_.allocations) add(row);
    for (const recording::Free& row : from_.frees) end(row);
    std::ranges::stable_sort(profile_.blocks, {},
                             [](const Block& row) { return uint64_t{row.time_ns}; });
    if (twice_ == 0) return;
    profile_.damage.push_back(fmt::format(
        "{} allocations have the number of another one of their process, and are left out",
        twice_));
  }

 private:
  using Key = std::pair<uint32_t, uint64_t>;
  Key key(uint32_t thread, uint64_t id) const { return {from_.threads[thread].process, id}; }

  void add(const recording::Allocation& row) {
    if (!known_.intern(key(row.thread, row.id)).is_new) {
      ++twice_;
      return;
    }
    Block& block = profile_.blocks.emplace_back();
    block.time_ns = row.time_ns;
    block.thread = row.thread;
    block.stack = mapped(row.stack, stacks_);
    block.size = row.size;
    block.mean = row.mean;
    block.kind = row.kind;
    block.stop = row.stop;
    block.earlier = row.earlier;
  }

  void end(const recording::Free& row) {
    const size_t blocks = known_.size();
    const uint32_t index = known_.intern(key(row.thread, row.id)).handle;
    if (index >= profile_.blocks.size()) {
      profile_.unknown_frees += index == blocks;  // the allocation was lost; once for each
      return;
    }
    Block& block = profile_.blocks[index];
    if (block.freed_ns != UINT64_MAX) return;
    block.freed_ns = std::max(row.time_ns, block.time_ns);
    block.freeing_thread = row.thread;
    block.freeing_stack = mapped(row.stack, stacks_);
  }

  const recording::Recording& from_;
  const std::vector<uint32_t>& stacks_;
  Profile& profile_;
  Interner<Key> known_;
  uint64_t twice_ = 0;
};

void load_locks(const recording::Recording& from, const std::vector<uint32_t>& stacks,
                Profile* profile) {
  for (const recording::Lock& row : from.locks) {
    profile->locks.push_back({row.process, row.address, row.frame, row.origin, row.kind});
  }
  for (const recording::LockWait& row : from.lock_waits) {
    LockWait& wait = profile->lock_waits.emplace_back();
    wait.begin_ns = row.begin_ns;
    wait.duration_ns = row.duration_ns;
    wait.limit_ns = row.limit_ns;
    wait.thread = row.thread;
    wait.stack = mapped(row.stack, stacks);
    wait.lock = row.lock;
    wait.kind = row.kind;
    wait.stop = row.stop;
    wait.holder = row.holder;
    wait.holder_stack = mapped(row.holder_stack, stacks);
    wait.waker = row.waker;
    wait.waker_stack = mapped(row.waker_stack, stacks);
    wait.woken_ns = row.woken_ns;
  }
  std::ranges::stable_sort(profile->lock_waits, {},
                           [](const LockWait& row) { return uint64_t{row.end_ns()}; });
}

}  // namespace

void load_watched(const recording::Recording& from, const std::vector<uint32_t>& stacks,
                  Profile* profile) {
  BlockLoader(from, stacks, profile).load();
  load_locks(from, stacks, profile);
  profile->watch_changes = from.watch_changes;
  std::ranges::stable_sort(profile->watch_changes, {},
                           [](const WatchChange& row) { return uint64_t{row.time_ns}; });
}

}  // namespace sampan::profile
