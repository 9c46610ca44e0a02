// What the slowest spans of a name do that the others do not, function by function and wait by
// wait.
//
// Compared is how spans divide their sampled time, not how much there is: slow spans that do the
// same as the others, only more of it, do nothing differently. Time in the queue for a CPU is the
// machine's doing and left out; it has a figure of its own.
//
// The sampling unit is the span: samples of one span are not independent. Of each function, with
// what it called, two questions are asked, and the smaller p-value counts, doubled:
//
//   hits   Is it met in more of the slow spans than its part of the others' samples lets expect? In
//          h of k spans, where that part, at most, and the slow spans' samples make for m: the
//          tail of a binomial distribution of mean m. It bounds that of k unequal chances
//          (Hoeffding 1956), so long spans and bursts within one do no harm.
//   share  Is its part of the slow spans' time larger? Each span's residual is its time there less
//          the others' part of its time; their sum by its deviation is compared with Student's t.
//          The deviation is the larger of the slow spans' own and the others', scaled.
//
// The p-values are corrected for the number of functions (Bonferroni), so that with the stated
// confidence nothing at all is named where there is nothing. Named is only what makes for a
// twentieth of the slow spans' sampled time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/sampled_spans.h"
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
  // Neither: off the CPU, where only CPU was sampled; else chance.
  double unsampled_ns() const { return wall_ns - cpu_ns - waiting_ns - runnable_ns; }
};

struct SpanCause {
  uint32_t function = kNone;
  bool is_wait = false;     // a wait, not code
  double slow_ns = 0;       // per slow span
  double other_ns = 0;      // per other span
  uint64_t slow_spans = 0;  // of the slow ones: how many have it
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
  std::string too_few;            // why nothing can be told; "" when it can
};

// Of a symbolized profile; samples of the view's state are looked at. Throws Error when the view
// has no span of that name.
SpanExplanation explain_span(const View& view, const std::string& name, SampledSpans& sampled,
                             const ExplainOptions& options = {});

}  // namespace sampan::profile
