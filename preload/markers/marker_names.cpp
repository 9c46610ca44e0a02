#include "preload/marker_names.h"

#include <string.h>

#include <atomic>

#include "preload/marker_counters.h"
#include "preload/marker_text.h"
#include "preload/process.h"
#include "preload/spin_lock.h"
#include "wire/control_block.h"

namespace sampan::preload {
namespace {

constexpr uint32_t kBuckets = 2 * wire::kMaxMarkerNames;
// A program may make names without end.
constexpr uint32_t kNamesForCounters = 2048;
constexpr uint32_t kTextForCounters = 128 << 10;
constexpr unsigned kPatience = 10'000;

// Half of the hash, the generation, and an index. One of another generation is empty: the names of
// a forked child's parent.
struct Bucket {
  uint32_t hash;
  uint16_t generation;
  uint16_t index;
};
static_assert(wire::kMaxMarkerNames <= UINT16_MAX + 1);

// Our own account of what is in the shared memory: that may be overwritten.
struct Place {
  uint32_t offset;
  uint32_t size;
};

SpinLock lock;
std::atomic<Bucket> buckets[kBuckets];
Place places[wire::kMaxMarkerNames];
std::atomic<uint32_t> count;  // these two change under the lock
std::atomic<uint32_t> used;
uint16_t generation = 1;

bool is(uint32_t index, std::string_view name) {
  const Place place = places[index];
  return place.size == name.size() &&
         memcmp(wire::marker_names(this_process.shared)->text + place.offset, name.data(),
                name.size()) == 0;
}

// The bucket of the name, or an empty one where it belongs; they are never all taken.
std::atomic<Bucket>& find(std::string_view name, uint64_t hash, Bucket* found) {
  for (uint64_t i = hash;; ++i) {
    std::atomic<Bucket>& bucket = buckets[i % kBuckets];
    *found = bucket.load(std::memory_order_acquire);
    if (found->generation != generation ||
        (found->hash == static_cast<uint32_t>(hash >> 32) && is(found->index, name))) {
      return bucket;
    }
  }
}

bool has_room(std::string_view name, NameUse use) {
  const bool ordinary = use == NameUse::kOrdinary;
  return count < wire::kMaxMarkerNames - (ordinary ? kNamesForCounters : 0) &&
         used + name.size() <= wire::kMarkerNamesText - (ordinary ? kTextForCounters : 0);
}

uint32_t add(std::string_view name, uint64_t hash, NameUse use) {
  Bucket found{};
  std::atomic<Bucket>& bucket = find(name, hash, &found);
  if (found.generation == generation) return found.index;  // another thread was faster
  if (!has_room(name, use)) return wire::kInlineName;
  wire::MarkerNames* names = wire::marker_names(this_process.shared);
  const auto size = static_cast<uint32_t>(name.size());
  memcpy(names->text + used, name.data(), size);
  names->entries[count] = {used, size};
  places[count] = {used, size};
  reset_counter(count);
  used += size;
  const uint32_t index = count++;
  names->used.store(used, std::memory_order_relaxed);
  names->count.store(count, std::memory_order_release);
  // Last: whoever finds it here may use it in a record.
  bucket.store({static_cast<uint32_t>(hash >> 32), generation, static_cast<uint16_t>(index)},
               std::memory_order_release);
  return index;
}

__attribute__((noinline)) uint32_t add_locked(std::string_view name, uint64_t hash, NameUse use) {
  if (!has_room(name, use)) return wire::kInlineName;
  const auto add_if = [&](bool locked) {
    if (!locked) return wire::kInlineName;
    const uint32_t index = add(name, hash, use);
    lock.unlock();
    return index;
  };
  // A signal handler may come here while it interrupts the holder; then signals are not blocked.
  if (this_process.seccomp_filtered.load(std::memory_order_relaxed)) return add_if(lock.try_lock());
  const SignalsBlocked blocked;
  return add_if(lock.lock_for(kPatience));
}

}  // namespace

uint32_t index_of_name(std::string_view name, NameUse use) {
  const uint64_t hash = hash_of(name);
  Bucket found{};
  find(name, hash, &found);
  return found.generation == generation ? found.index : add_locked(name, hash, use);
}

void marker_names_after_fork() {
  lock.unlock();
  count = 0;
  used = 0;
  if (++generation == 0) generation = 1;
}

}  // namespace sampan::preload
