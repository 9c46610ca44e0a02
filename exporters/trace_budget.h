// Selects the slices that a trace keeps within a size: the shortest are merged into their callers
// first.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "exporters/trace_slices.h"

namespace sampan::exporters {

// The order of merging: shorter slices first, and among slices of about the same length (within a
// sixteenth) deeper ones first. So a slice is never merged before the slices that it contains.
struct Rank {
  uint32_t length = 0;  // grows with the duration, 16 steps to the octave
  uint32_t depth = 0;

  static constexpr Rank of(uint64_t duration_us, size_t depth) {
    const auto octave = static_cast<uint32_t>(std::bit_width(duration_us));
    const uint64_t top_five_bits =
        octave > 5 ? duration_us >> (octave - 5) : duration_us << (5 - octave);
    return {octave << 4 | static_cast<uint32_t>(top_five_bits & 15), static_cast<uint32_t>(depth)};
  }
  constexpr bool before(const Rank& other) const {
    return length != other.length ? length < other.length : depth > other.depth;
  }
};

// Sums the bytes of slices by rank. SizeOf(function, begin_us, end_us): the bytes of one slice.
template <typename SizeOf>
class TraceBudget : public SliceSink {
 public:
  explicit TraceBudget(SizeOf size_of) : size_of_(size_of) {}

  void open(uint32_t function, uint64_t begin_us) override {
    open_.push_back({begin_us, function});
  }
  void close(uint64_t end_us) override {
    const auto [begin_us, function] = open_.back();
    const uint64_t bytes = size_of_(function, begin_us, end_us);
    open_.pop_back();
    const Rank rank = Rank::of(end_us - begin_us, open_.size());
    if (by_length_.size() <= rank.length) by_length_.resize(rank.length + 1);
    auto& by_depth = by_length_[rank.length];
    if (by_depth.size() <= rank.depth) by_depth.resize(rank.depth + 1);
    by_depth[rank.depth].add(bytes, end_us - begin_us);
    all_.add(bytes, end_us - begin_us);
  }

  struct Slices {
    uint64_t bytes = 0, count = 0, longest_us = 0;
    void add(uint64_t size, uint64_t duration_us) {
      bytes += size;
      ++count;
      longest_us = duration_us > longest_us ? duration_us : longest_us;
    }
  };
  const Slices& all() const { return all_; }

  struct Cut {
    Rank first_kept;
    uint64_t merged = 0;      // slices
    uint64_t longest_us = 0;  // of those merged
  };
  Cut cut(uint64_t limit) const {
    Cut result;
    uint64_t bytes = all_.bytes;
    for (uint32_t length = 0; length < by_length_.size(); ++length) {
      for (size_t depth = by_length_[length].size(); depth-- > 0;) {
        result.first_kept = {length, static_cast<uint32_t>(depth)};
        if (bytes <= limit) return result;
        const Slices& slices = by_length_[length][depth];
        bytes -= slices.bytes;
        result.merged += slices.count;
        if (slices.longest_us > result.longest_us) result.longest_us = slices.longest_us;
      }
    }
    result.first_kept = {UINT32_MAX, 0};  // nothing
    return result;
  }

 private:
  struct Open {
    uint64_t begin_us;
    uint32_t function;
  };

  SizeOf size_of_;
  std::vector<Open> open_;
  std::vector<std::vector<Slices>> by_length_;  // then by depth
  Slices all_;
};

}  // namespace sampan::exporters
