// Spans of Profile::markers: their durations, their parents, and the samples that were taken in them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"
#include "profile/profile.h"
#include "profile/view.h"

namespace sampan::profile {

inline uint64_t duration_ns(const Span& span) {
  return span.end_ns.since(span.begin_ns);
}

// By span, the index of its parent; kNone when it has none or the parent was lost. Chains of parents
// end: a parent began before its child, or at the same time with a smaller id.
std::vector<uint32_t> span_parents(const Profile& profile);

// The spans that a sample was taken in: those that its thread had open, and their parents by id.
//
// A sample on CPU belongs to the span that was open at its time. The CPU that it stands for was
// used since the thread's previous sample on CPU; other spans may have been open in that interval,
// but there are no samples of them. A waiting sample is an interval of waiting: each span that was
// open within [time - weight, time] gets its part of it.
//
// Only nested spans belong to a thread. A span across threads gets what is in the nested spans that
// descend from it, on any thread.

// A part of a sample's interval during which the same spans were open.
struct SpanPiece {
  uint32_t innermost = kNone;
  uint64_t ns = 0;
};

class SampledSpans {
 public:
  explicit SampledSpans(const Profile& profile);

  // By span: its parent; kNone for none.
  const std::vector<uint32_t>& parents() const { return parents_; }

  // Calls visit(const Sample&, uint32_t innermost, std::span<const SpanPiece>, uint64_t
  // interval_ns) for the samples in the state, of threads that have nested spans: by thread, then
  // by time. `innermost` is the span at the sample's time, or kNone. Parts of the interval outside
  // all spans have no piece.
  template <typename Visit>
  void for_each(State state, Visit&& visit) {
    for (uint32_t thread = 0; thread < profile_.threads.size(); ++thread) {
      if (!open_thread(thread)) continue;
      SessionNs last_cpu_ns = profile_.threads[thread].start_ns;
      for (const uint32_t index : samples_of(thread)) {
        const Sample& sample = profile_.samples[index];
        if (state != State::kAll && (state == State::kWaiting) != (sample.wait != kNone)) continue;
        SessionNs begin_ns = sample.time_ns.earlier(sample.weight_ns);
        if (sample.wait == kNone) {
          begin_ns = std::min(begin_ns, last_cpu_ns);
          last_cpu_ns = sample.time_ns;
        }
        const uint32_t innermost = cut(begin_ns, sample.time_ns);
        visit(sample, innermost, std::span<const SpanPiece>(pieces_), sample.time_ns - begin_ns);
      }
    }
  }

 private:
  // From `begin_ns` up to the next change.
  struct Change {
    SessionNs begin_ns;
    uint32_t innermost;
  };

  // Finds the changes of a thread; false when it has no nested spans.
  bool open_thread(uint32_t thread);
  std::span<const uint32_t> samples_of(uint32_t thread) const {
    return std::span(samples_).subspan(first_sample_[thread],
                                       first_sample_[thread + 1] - first_sample_[thread]);
  }
  uint32_t cut(SessionNs begin_ns, SessionNs end_ns);

  const Profile& profile_;
  std::vector<uint32_t> parents_;
  std::vector<uint32_t> samples_;     // indexes, by thread
  std::vector<size_t> first_sample_;  // by thread, into samples_; and one more
  std::vector<uint32_t> nested_;      // spans, by thread
  std::vector<size_t> first_nested_;
  std::vector<Change> changes_;  // of the open thread, by time
  std::vector<SpanPiece> pieces_;
};

}  // namespace sampan::profile
