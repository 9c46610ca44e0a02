// Tables that hold each key once and give it a handle, 0, 1, 2… in the order in which keys are first
// seen; the same for sequences; and new numbers for the rows of a table of which only some are needed.
//
// Hosted only.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace sampan {

// The finalizer of MurmurHash3 (fmix64): every bit of the result depends on every bit of x.
inline uint64_t mix_bits(uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccd;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53;
  return x ^ (x >> 33);
}

// The hash of integers, texts, pairs and tuples of them, and of keys with `uint64_t hash() const`.
template <typename Key>
uint64_t hash_of(const Key& key) {
  if constexpr (requires { key.hash(); }) {
    return key.hash();
  } else if constexpr (std::integral<Key>) {
    return mix_bits(static_cast<uint64_t>(key));
  } else if constexpr (std::convertible_to<const Key&, std::string_view>) {
    return std::hash<std::string_view>()(key);
  } else {
    uint64_t hash = 0;
    std::apply([&](const auto&... part) { ((hash = mix_bits(hash ^ hash_of(part))), ...); }, key);
    return hash;
  }
}

struct Interned {
  uint32_t handle;
  bool is_new;
};

// Keys in a container `Keys`, found by open addressing: eight to sixteen bytes a key beside the keys
// themselves. References to keys stay valid as long as the container's do.
template <typename Key, typename Keys = std::vector<Key>>
class Interner {
 public:
  // `key` may be of another type that has the same hash and compares equal, as string_view does.
  template <typename Like>
  Interned intern(Like&& key) {
    if (keys_.size() * 2 >= places_.size()) grow(places_.empty() ? 16 : places_.size() * 2);
    uint32_t& place = place_of(key);
    if (place != 0) return {place - 1, false};
    keys_.push_back(Key(std::forward<Like>(key)));
    place = static_cast<uint32_t>(keys_.size());
    return {place - 1, true};
  }

  // Makes room for so many keys.
  void reserve(size_t keys) {
    keys_.reserve(keys);
    if (places_.size() < keys * 2) grow(std::bit_ceil(keys * 2));
  }

  const Key& operator[](uint32_t handle) const { return keys_[handle]; }
  size_t size() const { return keys_.size(); }
  const Keys& keys() const { return keys_; }

  // The keys; the table is empty then.
  Keys take() {
    places_.clear();
    return std::exchange(keys_, {});
  }

 private:
  template <typename Like>
  uint32_t& place_of(const Like& key) {
    size_t place = hash_of(key) & (places_.size() - 1);
    while (places_[place] != 0 && !(keys_[places_[place] - 1] == key)) {
      place = (place + 1) & (places_.size() - 1);
    }
    return places_[place];
  }

  void grow(size_t places) {
    places_.assign(places, 0);
    uint32_t number = 0;
    for (const Key& key : keys_) {
      size_t place = hash_of(key) & (places_.size() - 1);
      while (places_[place] != 0) place = (place + 1) & (places_.size() - 1);
      places_[place] = ++number;
    }
  }

  Keys keys_;
  std::vector<uint32_t> places_;  // handles + 1, by hash; 0: free
};

// Texts; handle 0 is "".
template <typename Keys = std::vector<std::string>>
class TextTable : public Interner<std::string, Keys> {
 public:
  TextTable() { this->intern(""); }
  uint32_t handle(std::string_view text) { return this->intern(text).handle; }
};

// Handles of sequences of which each mostly begins as the one before did.
template <typename Part>
class LastSequence {
 public:
  // `extend(handle, part)`: the handle of a sequence that is longer by a part. `empty` is that of none.
  template <typename Iterator, typename Extend>
  uint32_t handle(Iterator begin, Iterator end, uint32_t empty, Extend&& extend) {
    const auto [last, next] = std::mismatch(parts_.begin(), parts_.end(), begin, end);
    const auto shared = static_cast<size_t>(last - parts_.begin());
    parts_.resize(shared);
    handles_.resize(shared);
    uint32_t handle = shared == 0 ? empty : handles_.back();
    for (Iterator part = next; part != end; ++part) {
      handle = extend(handle, *part);
      parts_.push_back(*part);
      handles_.push_back(handle);
    }
    return handle;
  }

 private:
  std::vector<Part> parts_;
  std::vector<uint32_t> handles_;  // of the sequence up to each part
};

// Numbers some rows of a table anew, in the order in which they are first asked for.
class Renumbering {
 public:
  explicit Renumbering(size_t rows) : to_(rows, UINT32_MAX) {}

  Interned number(uint32_t row) {
    const bool is_new = to_[row] == UINT32_MAX;
    if (is_new) {
      to_[row] = static_cast<uint32_t>(used_.size());
      used_.push_back(row);
    }
    return {to_[row], is_new};
  }
  const std::vector<uint32_t>& used() const { return used_; }  // rows, by their new number

 private:
  std::vector<uint32_t> to_, used_;
};

}  // namespace sampan
