// Markers as Chrome trace events.
//
// - Nested spans are begin and end events (ph B, E). Slices of one track must nest, but slices of
//   samples end where samples were taken, not where spans end. So spans have a track of their own
//   (a thread in the format), just before the thread's. Begin and end events, unlike durations, end
//   at the same time in every viewer, however it represents numbers.
// - Spans that do not nest (begun and ended by id, or damaged) and sections are asynchronous events
//   (ph b, e) with an id of their process; events are instants (ph i) on the track of spans.
// - Counters are counters (ph C) of the process.
// - Times are microseconds with three digits. Markers are cut to the view's time; their argument
//   "duration_ms" has the whole duration.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "exporters/fitting_markers.h"

namespace sampan::exporters {

// Above all tids of Linux.
inline constexpr int64_t kMarkerTrack = int64_t{1} << 30;

class TraceMarkers {
 public:
  // The view's markers that fit into `max_size` bytes.
  TraceMarkers(const profile::View& view, uint64_t max_size);

  bool has_track(uint32_t thread) const {
    return !spans_[thread].empty() || !events_[thread].empty();
  }
  void write(const std::function<void(std::string_view)>& event) const;
  const std::vector<std::string>& notes() const { return markers_.notes; }

 private:
  using Write = std::function<void(std::string_view)>;
  void write_track(uint32_t thread, const Write& write) const;
  void write_async_span(const profile::Span& span, const Write& write) const;
  void write_sections(const Write& write) const;
  void write_counters(const Write& write) const;
  void write_pauses(const Write& write) const;
  std::string arguments(const profile::Span& span) const;
  std::string cut_argument(SessionNs begin_ns, SessionNs end_ns) const;

  const profile::View& view_;
  const profile::Profile& profile_;
  const std::vector<int32_t> pids_;  // by process
  FittingMarkers markers_;
  // By thread of the profile: rows of its track.
  std::vector<std::vector<uint32_t>> spans_, events_;
};

}  // namespace sampan::exporters
