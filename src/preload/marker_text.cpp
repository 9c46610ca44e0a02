#include "preload/marker_text.h"

#include <string.h>

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
  // At most three bytes back: beyond that it is no UTF-8.
  for (unsigned i = 0; i < 3 && (view_[size] & 0xc0) == 0x80; ++i) --size;
  memcpy(cut_, view_.data(), size);
  const uint64_t hash = hash_of(view_);
  cut_[size++] = '~';
  for (unsigned shift = 64; shift > 0; shift -= 4) cut_[size++] = kDigits[hash >> (shift - 4) & 15];
  view_ = {cut_, size};
}

}  // namespace sampan::preload
