#include "preload/markers/marker_names.h"

#include <string.h>

#include <atomic>

#include "preload/markers/marker_functions.h"
#include "preload/process/process.h"
#include "preload/support/spin_lock.h"
#include "wire/control_block.h"

namespace sampan::preload {
namespace {

template <typename T>
uint64_t load(const char* from) {
  T value;
  memcpy(&value, from, sizeof value);
  return value;
}

// An odd number with bits everywhere: 2^64 divided by the golden ratio.
constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;

uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * kMultiplier;
  return hash ^ hash >> 32;
}

constexpr uint32_t kBuckets = 2 * wire::kMaxMarkerNames;
// Kept free for counters: a program may make any number of names.
constexpr uint32_t kNamesForCounters = 2048;
constexpr uint32_t kTextForCounters = 128 << 10;
constexpr unsigned kLockYields = 10'000;

// A bucket of another generation is empty: it is from the parent of a forked child. Aligned, so that every compiler
// stores it by one instruction.
struct alignas(uint64_t) Bucket {
  uint32_t hash;
  uint16_t generation;
  uint16_t index;
};
static_assert(wire::kMaxMarkerNames <= UINT16_MAX + 1);

// A copy of what is in the shared memory, which may be overwritten.
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
         memcmp(
             wire::marker_names(this_process.shared, this_process.shape.slots)->text + place.offset,
             name.data(), name.size()) == 0;
}

// The bucket of the name, or the empty one where it belongs. The buckets are never all taken.
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
  if (found.generation == generation) return found.index;  // another thread has added it
  if (!has_room(name, use)) return wire::kInlineName;
  wire::MarkerNames* names = wire::marker_names(this_process.shared, this_process.shape.slots);
  const auto size = static_cast<uint32_t>(name.size());
  memcpy(names->text + used, name.data(), size);
  names->entries[count] = {used, size};
  places[count] = {used, size};
  reset_counter(count);
  used += size;
  const uint32_t index = count++;
  names->used.store(used, std::memory_order_relaxed);
  names->count.store(count, std::memory_order_release);
  // Last: a thread that finds the name here may use it in a record.
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
  // Without blocked signals, a signal handler may come here that has interrupted the holder.
  if (this_process.seccomp_filtered.load(std::memory_order_relaxed)) return add_if(lock.try_lock());
  const SignalsBlocked blocked;
  return add_if(lock.lock_for(kLockYields));
}

}  // namespace

// Eight bytes at a time; the last eight may overlap those before.
uint64_t hash_of(std::string_view text) {
  const char* data = text.data();
  const size_t size = text.size();
  uint64_t hash = mix(kMultiplier, size);
  if (size >= 8) {
    for (size_t i = 0; i + 8 < size; i += 8) hash = mix(hash, load<uint64_t>(data + i));
    hash = mix(hash, load<uint64_t>(data + size - 8));
  } else if (size >= 4) {
    hash = mix(hash, load<uint32_t>(data) | load<uint32_t>(data + size - 4) << 32);
  } else if (size > 0) {
    hash = mix(hash, load<uint8_t>(data) | load<uint8_t>(data + size / 2) << 8 |
                         load<uint8_t>(data + size - 1) << 16);
  }
  return mix(hash, size);
}

MarkerText::MarkerText(const char* given) {
  if (given == nullptr) return;
  view_ = {given, strlen(given)};
  if (view_.size() > sizeof cut_) cut();
}

void MarkerText::cut() {
  constexpr char kDigits[] = "0123456789abcdef";
  constexpr size_t kHashDigits = 16;
  size_t size = sizeof cut_ - 1 - kHashDigits;
  // At most three bytes back: a longer run is not UTF-8.
  for (unsigned i = 0; i < 3 && (view_[size] & 0xc0) == 0x80; ++i) --size;
  memcpy(cut_, view_.data(), size);
  const uint64_t hash = hash_of(view_);
  cut_[size++] = '~';
  for (unsigned shift = 64; shift > 0; shift -= 4) cut_[size++] = kDigits[hash >> (shift - 4) & 15];
  view_ = {cut_, size};
}

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
