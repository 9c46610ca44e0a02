// What threads did inside spans: on CPU, waiting, or waiting for a CPU, from the samples.
//
// A sample counts as a whole or in pieces for the spans that it was taken in (sampled_spans.h): to
// the innermost as its self time, to each name around it once as total. So where a span has its
// own name inside itself, the total counts that time once.
//
// How far off a sum may be: the time that a sample stands for may lie in the spans of a row only in
// part, q, and the sample says all or nothing; that is a variance of q (1 - q) weight². How large q
// is, is known where a thread runs all the time: the part of the interval since its last sample in
// which the spans were open. Where it rested in between, q is between two bounds (it cannot have
// used more CPU inside than they were open, nor outside), and the value between them that gives
// most counts. Samples whose interval lies in one span add nothing. The error is twice the root of
// the sum: about 95 %.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/sampled_spans.h"
#include "profile/span_table.h"

namespace sampan::profile {

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

// By row of the table. Samples of the view's state are counted, wherever in time: spans are whole.
std::vector<SpanTime> span_times(const View& view, const SpanTable& table, SampledSpans& sampled);

}  // namespace sampan::profile
