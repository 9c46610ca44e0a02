// The ring into which the kernel writes the records of perf events: perf_event_open(2), "MMAP
// layout". One control page, then the data, a power of two of bytes. The kernel publishes
// `data_head` after the bytes before it; what lies before `data_tail`, which is ours, it may
// overwrite.
//
// Positions and lengths are checked: one that makes no sense costs what is in the ring at that
// moment, and is counted.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace sampan::attach {

class PerfRing {
 public:
  // A record's bytes: the header, then what perf_records.h takes apart.
  using Record = std::span<const uint8_t>;

  PerfRing(perf_event_mmap_page* control, std::span<const uint8_t> data)
      : control_(control), data_(data) {}

  // What has been written so far; pass it to `peek` to read no further than that.
  uint64_t head() const;
  // The next record before `limit`; empty when there is none. Stays readable until `pop`.
  Record peek(uint64_t limit);
  // Gives the record of the last `peek` back to the kernel.
  void pop();

  // How often something made no sense since the last call.
  uint64_t take_corrupt() { return std::exchange(corrupt_, 0); }

 private:
  void release(uint64_t position);

  perf_event_mmap_page* control_;
  std::span<const uint8_t> data_;
  uint64_t position_ = 0;  // our own copy of data_tail
  Record current_;
  std::vector<uint8_t> wrapped_;  // a record that goes over the end of the ring, in one piece
  uint64_t corrupt_ = 0;
};

}  // namespace sampan::attach
