#include "preload/wrappers/lock_origins.h"

#include <cstddef>

#include "base/address.h"
#include "preload/support/machine.h"

namespace sampan::preload {
namespace {

constexpr size_t kPlaces = size_t{1} << 15;
// A bit of origins that were taken: no address of code has it.
constexpr uint64_t kTaken = uint64_t{1} << 63;

// The lock's address and the origin; zeroes: free.
constinit WordPair places[kPlaces]{};

WordPair& place_of(uint64_t lock) {
  constexpr uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
  return places[(lock * kGoldenRatio) >> 32 & (kPlaces - 1)];
}

WordPair seen_in(const WordPair& place) {
  return {__atomic_load_n(&place.first, __ATOMIC_RELAXED),
          __atomic_load_n(&place.second, __ATOMIC_RELAXED)};
}

uint64_t address_of(const volatile void* lock) {
  return reinterpret_cast<uint64_t>(lock);
}

}  // namespace

void note_lock_origin(const volatile void* lock, const void* caller) {
  const uint64_t origin =
      CodeAddress::return_address(reinterpret_cast<uint64_t>(caller)).lookup_avma();
  WordPair& place = place_of(address_of(lock));
  WordPair seen = seen_in(place);
  while (!replace(place, seen, {address_of(lock), origin})) {
  }
}

void forget_lock_origin(const volatile void* lock) {
  WordPair& place = place_of(address_of(lock));
  WordPair seen = seen_in(place);
  while (seen.first == address_of(lock) && !replace(place, seen, {0, 0})) {
  }
}

uint64_t take_lock_origin(uint64_t lock) {
  WordPair& place = place_of(lock);
  WordPair seen = seen_in(place);
  while (seen.first == lock && (seen.second & kTaken) == 0) {
    const uint64_t origin = seen.second;
    if (replace(place, seen, {lock, origin | kTaken})) return origin;
  }
  return 0;
}

void give_back_lock_origin(uint64_t lock) {
  WordPair& place = place_of(lock);
  WordPair seen = seen_in(place);
  while (seen.first == lock && !replace(place, seen, {lock, seen.second & ~kTaken})) {
  }
}

void lock_origins_after_fork() {
  for (WordPair& place : places) {
    if ((place.second & kTaken) != 0) place.second &= ~kTaken;
  }
}

}  // namespace sampan::preload
