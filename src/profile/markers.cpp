#include "profile/markers.h"

#include <algorithm>
#include <utility>

namespace sampan::profile {
namespace {

// Of intervals that begin together the longest comes first: it is around the others.
bool begins_before(const auto& a, const auto& b) {
  return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
}

// There may be ten million: in place, and so by their ids too.
void sort_spans(std::vector<Span>* rows) {
  std::sort(rows->begin(), rows->end(), [](const Span& a, const Span& b) {
    if (begins_before(a, b)) return true;
    return !begins_before(b, a) && std::pair(a.thread, a.id) < std::pair(b.thread, b.id);
  });
}

template <typename Interval>
void sort_intervals(std::vector<Interval>* rows) {
  std::stable_sort(rows->begin(), rows->end(),
                   [](const Interval& a, const Interval& b) { return begins_before(a, b); });
}

template <typename Moment>
void sort_moments(std::vector<Moment>* rows) {
  std::stable_sort(rows->begin(), rows->end(),
                   [](const Moment& a, const Moment& b) { return a.time_ns < b.time_ns; });
}

template <typename Row>
void apply(const Label& label, const std::string& text, Row* row) {
  if (!text.empty()) row->name = text;
  if (label.order) row->order = label.order;
}

}  // namespace

void load_markers(Markers markers, Profile* profile) {
  sort_spans(&markers.spans);
  sort_intervals(&markers.sections);
  sort_intervals(&markers.pauses);
  sort_moments(&markers.events);
  sort_moments(&markers.counters);
  sort_moments(&markers.labels);
  for (const Label& label : markers.labels) {
    const std::string& text = markers.texts[label.text];
    if (label.thread != kNone) {
      apply(label, text, &profile->threads[label.thread]);
    } else {
      apply(label, text, &profile->processes[label.process]);
    }
  }
  profile->markers = std::move(markers);
}

}  // namespace sampan::profile
