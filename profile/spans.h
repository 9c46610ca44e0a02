// Which spans a sample was taken in: those that its thread had open, and those around them by id.
//
// A sample on CPU is of the span that was open at its moment. The CPU that it stands for was used
// since the thread's sample on CPU before it: in that interval other spans were open too, but
// nobody looked. A waiting sample is a time that was waited: each span that was open within [time -
// weight, time] has its part of it.
//
// Only nested spans are known to be of a thread. One that goes across threads has what is in the
// nested spans that descend from it, on whatever thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "profile/spans.h"
#include "profile/view.h"

namespace sampan::profile {

// A part of the interval of a sample, in which the same spans were open.
struct SpanPiece {
  uint32_t innermost = kNone;
  uint64_t ns = 0;
};

class SampledSpans {
 public:
  explicit SampledSpans(const Profile& profile);

  // By span: the one around it, kNone for none.
  const std::vector<uint32_t>& parents() const { return parents_; }

  // Calls visit(const Sample&, uint32_t innermost, std::span<const SpanPiece>, uint64_t
  // interval_ns) for the samples, in the state, of threads that have nested spans: by thread, then
  // by time. `innermost` is the span of the sample's moment, or kNone; the pieces leave out what of
  // the interval was in no span.
  template <typename Visit>
  void for_each(State state, Visit&& visit) {
    for (uint32_t thread = 0; thread < profile_.threads.size(); ++thread) {
      if (!open_thread(thread)) continue;
      uint64_t last_cpu_ns = profile_.threads[thread].start_ns;
      for (const uint32_t index : samples_of(thread)) {
        const Sample& sample = profile_.samples[index];
        if (state != State::kAll && (state == State::kWaiting) != (sample.wait != kNone)) continue;
        uint64_t begin_ns = sample.time_ns - std::min(sample.weight_ns, sample.time_ns);
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
    uint64_t begin_ns;
    uint32_t innermost;
  };

  // Finds the changes of a thread; false when it has no nested spans.
  bool open_thread(uint32_t thread);
  std::span<const uint32_t> samples_of(uint32_t thread) const {
    return std::span(samples_).subspan(first_sample_[thread],
                                       first_sample_[thread + 1] - first_sample_[thread]);
  }
  uint32_t cut(uint64_t begin_ns, uint64_t end_ns);

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
