// Spans by name: how long they took, and what threads did inside them.
//
// The spans of a view (markers.h) count whole. Percentiles are by nearest rank: the smallest
// duration that at least that part of the row's spans do not exceed.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "profile/spans.h"
#include "profile/view.h"

namespace sampan::profile {

struct SpanRow {
  uint32_t name = 0;        // into Markers::texts
  uint32_t parent = kNone;  // of a tree: the row above
  uint32_t depth = 0;       // of a tree: number of rows above
  uint64_t count = 0;
  uint64_t total_ns = 0;
  uint64_t max_ns = 0, min_ns = 0;
  uint64_t p50_ns = 0, p95_ns = 0, p99_ns = 0;
  std::array<uint64_t, vocabulary::kClosedCount> closed = {};  // how many, by Closed
  bool across = false;  // it has spans that begin and end by id

  double average_ns() const { return static_cast<double>(total_ns) / static_cast<double>(count); }
  // Spans that the program did not end.
  uint64_t not_ended() const { return count - closed[0]; }
};

struct SpanTable {
  std::vector<SpanRow> rows;
  std::vector<uint32_t> row_of;  // by span of Profile::markers; kNone: not of the view
};

// A row per name, most total time first.
SpanTable span_ranking(const View& view);
// A row per path of names, from the outermost span inwards. Parents come before their children,
// which are sorted by total time. A span whose parent is not in the view is below its nearest
// ancestor that is, or at the top.
SpanTable span_tree(const View& view, const std::vector<uint32_t>& parents);

// What threads did inside spans: on CPU, waiting, or waiting for a CPU, from the samples.
//
// A sample counts, whole or in pieces, for the spans that it was taken in (SampledSpans): as
// self time of the innermost, and once as total time of each enclosing name. So when a span
// contains spans of its own name, the total counts their time once.
//
// The error of a sum: of the time that a sample stands for, a part q may be in the spans of a row,
// but the sample says all or nothing. Its variance is q (1 - q) weight². For a thread that runs all
// the time, q is the part of the interval since its previous sample in which the spans were open.
// For a thread that rested in between, q has two bounds: the CPU inside the spans is at most their
// duration, and the CPU outside at most the remaining time. The q that gives the largest variance
// counts. Samples whose interval is in one span add nothing. The error is twice the root of the
// sum: about 95 %.
struct SpanSum {
  uint64_t self_ns = 0;
  uint64_t total_ns = 0;
  double variance = 0;  // of the total, ns²
  double error_ns() const;
};

struct SpanTime {
  SpanSum cpu, waiting, runnable;
  uint64_t samples = 0;  // that were taken in them
};

// By row of the table. Samples in the view's state count at any time, because spans count whole.
std::vector<SpanTime> span_times(const View& view, const SpanTable& table, SampledSpans& sampled);

}  // namespace sampan::profile
