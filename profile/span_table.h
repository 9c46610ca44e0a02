// How long spans took: a row for each name, or for each name below the same parents.
//
// The spans of a view (view_markers.h) count whole. Percentiles are by nearest rank: the
// smallest duration that at least so many of the row's spans do not exceed.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "profile/view.h"

namespace sampan::profile {

struct SpanRow {
  uint32_t name = 0;        // into Markers::texts
  uint32_t parent = kNone;  // of a tree: the row above
  uint32_t depth = 0;       // of a tree: how many are above
  uint64_t count = 0;
  uint64_t total_ns = 0;
  uint64_t max_ns = 0, min_ns = 0;
  uint64_t p50_ns = 0, p95_ns = 0, p99_ns = 0;
  std::array<uint64_t, recording::kClosedCount> closed = {};  // how many, by Closed
  bool across = false;  // it has spans that begin and end by id

  double average_ns() const { return static_cast<double>(total_ns) / static_cast<double>(count); }
  // That were not ended by the program.
  uint64_t not_ended() const { return count - closed[0]; }
};

struct SpanTable {
  std::vector<SpanRow> rows;
  std::vector<uint32_t> row_of;  // by span of Profile::markers; kNone: not of the view
};

// A row per name, most total time first.
SpanTable span_ranking(const View& view);
// A row per path of names from the outermost span inwards. Parents come before their children,
// which are sorted by total time. A span whose parent is not of the view stands below the nearest
// span around it that is, or at the top.
SpanTable span_tree(const View& view, const std::vector<uint32_t>& parents);

}  // namespace sampan::profile
