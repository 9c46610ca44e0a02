// From samples to slices: the functions of one thread that were on its stack, from when to when.
//
// A sample stands for what its thread did up to it, so for the time [time - weight, time]. It
// continues the sample before it, unless the thread was off the CPU in between for noticeably
// longer: then all slices end with the earlier sample, and new ones begin with the later one's
// time. Functions that continued samples share, root first, go on in the same slice. Slices of a
// thread are strictly nested.
//
// Times are microseconds, as in the trace: a viewer adds ts and dur, which in fractions would not
// meet exactly. Shorter samples are left out. Where a slice would begin at the time at which one of
// the same name ends, it begins a microsecond later: speedscope would nest it in the other.
#pragma once

#include <cstdint>
#include <vector>

#include "exporters/stack_nodes.h"

namespace sampan::exporters {

// What becomes of the slices. close() is for the innermost that is open.
class SliceSink {
 public:
  virtual ~SliceSink() = default;
  virtual void open(uint32_t function, uint64_t begin_us) = 0;
  virtual void close(uint64_t end_us) = 0;
};

class TraceSlices {
 public:
  explicit TraceSlices(const profile::View& view);

  // The slices of the thread at a position in view.threads.
  void build(size_t position, SliceSink& sink);

 private:
  // The nodes from the root's child to `node`.
  void path_to(uint32_t node);
  // Whether one of the open slices from `depth` on has the name of the node.
  bool name_is_open(uint32_t node, size_t depth);

  const profile::Profile& profile_;
  std::vector<std::vector<uint32_t>> samples_;  // by position in view.threads
  uint64_t longest_pause_ns_;                   // that is not yet a gap
  StackNodes nodes_;
  std::vector<uint32_t> path_;  // scratch
  std::vector<uint32_t> open_;  // nodes of the slices that are open, root first
};

}  // namespace sampan::exporters
