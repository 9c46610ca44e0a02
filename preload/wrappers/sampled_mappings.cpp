#include "preload/wrappers/sampled_mappings.h"

#include <utility>

namespace sampan::preload {

constinit SampledMappings sampled_mappings{};

namespace {

// The longest wait: a signal handler of the program may have interrupted the lock's holder.
constexpr unsigned kLockYields = 10'000;

template <typename F>
bool under_lock(SpinLock& lock, F&& act) {
  if (!lock.lock_for(kLockYields)) return false;
  act();
  lock.unlock();
  return true;
}

}  // namespace

bool SampledMappings::add(uint64_t begin, uint64_t end, uint64_t id) {
  bool added = false;
  under_lock(lock_, [&] {
    const uint32_t at = used_.load(std::memory_order_relaxed);
    if (at == kMost) return;
    mappings_[at] = {begin, end, id};
    used_.store(at + 1, std::memory_order_relaxed);
    added = true;
  });
  return added;
}

bool SampledMappings::remove(uint64_t begin, uint64_t end, uint64_t* id) {
  *id = 0;
  return under_lock(lock_, [&] {
    const uint32_t used = used_.load(std::memory_order_relaxed);
    for (uint32_t i = 0; i < used && *id == 0; ++i) {
      Mapping& mapping = mappings_[i];
      if (begin <= mapping.begin && mapping.end <= end) {
        *id = mapping.id;
        mapping = mappings_[used - 1];
        used_.store(used - 1, std::memory_order_relaxed);
      } else if (begin <= mapping.begin && mapping.begin < end) {
        mapping.begin = end;
      } else if (begin < mapping.end && mapping.end <= end) {
        mapping.end = begin;
      }
    }
  });
}

void SampledMappings::forget() {
  lock_.unlock();
  used_.store(0, std::memory_order_relaxed);
}

}  // namespace sampan::preload
