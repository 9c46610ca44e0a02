// What the slowest spans of a name do differently from the others, by function and by wait.
//
// It compares how spans divide their sampled time, not how much time there is: slow spans that do
// the same as the others for longer do nothing differently. Time in the queue for a CPU depends on
// the machine; it is left out and reported separately.
//
// The sampling unit is the span: samples of one span are not independent. Each function, including
// what it called, is tested in two ways; the smaller p-value counts, doubled:
//
//   hits   Is it in more slow spans than its part of the others' samples suggests? It is in h of k
//          slow spans; an upper bound of that part and the slow spans' samples give an expected
//          number m. The p-value is the tail of a binomial distribution with mean m, which bounds
//          the tail for k unequal chances (Hoeffding 1956), so long spans and bursts do no harm.
//   share  Is its part of the slow spans' time larger? Each span's residual is its time in the
//          function minus the others' part of its time. Their sum divided by its deviation is
//          compared with Student's t. The deviation is the larger of the slow spans' own and the
//          others', scaled.
//
// The p-values are corrected for the number of functions (Bonferroni): when there is no difference,
// nothing is named, with the stated confidence. Only functions with at least a twentieth of the
// slow spans' sampled time are named.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/spans.h"
#include "profile/view.h"

namespace sampan::profile {

struct ExplainOptions {
  double confidence = 0.95;
  double slow_part = 0.01;  // of the spans
};

// Means of a group of spans.
struct SpanMeans {
  uint64_t spans = 0;
  uint64_t samples = 0;  // on CPU or waiting
  double wall_ns = 0, cpu_ns = 0, waiting_ns = 0, runnable_ns = 0;
  // The rest: off the CPU if only CPU was sampled, else chance.
  double unsampled_ns() const { return wall_ns - cpu_ns - waiting_ns - runnable_ns; }
};

struct SpanCause {
  uint32_t function = kNone;
  bool is_wait = false;     // a wait, not code
  double slow_ns = 0;       // per slow span
  double other_ns = 0;      // per other span
  uint64_t slow_spans = 0;  // how many slow spans have it
  double p = 1;             // corrected
};

struct SpanExplanation {
  ExplainOptions options;
  uint32_t name = 0;
  bool across = false;        // some of them begin and end by id
  uint64_t slow_from_ns = 0;  // the shortest of the slow ones
  SpanMeans slow, others;
  size_t functions = 0;           // that were compared
  std::vector<SpanCause> causes;  // most time first
  std::string too_few;            // why nothing can be compared; else ""
};

// The profile is symbolized; samples in the view's state count. Throws Error when the view has no
// span of that name.
SpanExplanation explain_span(const View& view, const std::string& name, SampledSpans& sampled,
                             const ExplainOptions& options = {});

}  // namespace sampan::profile
