#include "profile/markers.h"

#include <algorithm>
#include <utility>

#include "base/text/readable.h"
#include "wire/loss.h"

namespace sampan::profile {
namespace {

// The longest of the intervals that begin together comes first: it contains the others.
bool begins_before(const auto& a, const auto& b) {
  return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
}

// There may be ten million: sorted in place, which is not stable, hence also by their ids.
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

template <typename Row, typename IsOfView>
std::vector<uint32_t> rows_of(const std::vector<Row>& rows, const IsOfView& is_of_view) {
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < rows.size(); ++i) {
    if (is_of_view(rows[i])) found.push_back(i);
  }
  return found;
}

}  // namespace

void load_markers(Markers markers, Profile* profile) {
  sort_spans(&markers.spans);
  sort_intervals(&markers.sections);
  sort_intervals(&markers.pauses);
  sort_moments(&markers.events);
  sort_moments(&markers.counters);
  sort_moments(&markers.labels);
  sort_intervals(&markers.steps);
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

std::vector<bool> has_threads(const View& view) {
  std::vector<bool> has(view.profile->threads.size());
  for (const uint32_t thread : view.threads) has[thread] = true;
  for (uint32_t i = 0; i < view.merged_into.size(); ++i) {
    if (has[view.merged_into[i]]) has[i] = true;
  }
  return has;
}

ViewMarkers markers_of(const View& view) {
  const Profile& profile = *view.profile;
  const Markers& markers = profile.markers;
  ViewMarkers result;
  if (markers.empty()) return result;
  const std::vector<bool> has = has_threads(view);
  std::vector<bool> has_process(profile.processes.size());
  for (uint32_t i = 0; i < has.size(); ++i) {
    if (has[i]) has_process[profile.threads[i].process] = true;
  }
  const auto is_of = [&](uint32_t thread, SessionNs begin_ns, SessionNs end_ns) {
    return has[thread] && view.meets(thread, begin_ns, end_ns);
  };
  const auto is_of_process = [&](uint32_t process, SessionNs begin_ns, SessionNs end_ns) {
    return has_process[process] && view.meets_process(process, begin_ns, end_ns);
  };

  result.spans = rows_of(markers.spans, [&](const Span& span) {
    return is_of(span.thread, span.begin_ns, span.end_ns) ||
           is_of(span.end_thread, span.begin_ns, span.end_ns);
  });
  result.events = rows_of(markers.events, [&](const Event& event) {
    return is_of(event.thread, event.time_ns, event.time_ns);
  });
  result.counters = rows_of(markers.counters, [&](const CounterValue& value) {
    return is_of_process(profile.threads[value.thread].process, value.time_ns, value.time_ns);
  });
  result.sections = rows_of(markers.sections, [&](const Section& section) {
    return section.thread == kNone
               ? is_of_process(section.process, section.begin_ns, section.end_ns)
               : is_of(section.thread, section.begin_ns, section.end_ns);
  });
  return result;
}

namespace {

using wire::Loss;

constexpr Loss kLosses[] = {Loss::kMarkerFull,      Loss::kMarkerNoThread, Loss::kMarkerDeep,
                            Loss::kMarkerUnmatched, Loss::kMarkerCounter,  Loss::kMarkerHole};

}  // namespace

std::vector<std::string> marker_losses(const Profile& profile) {
  std::vector<std::string> sentences;
  for (const Loss loss : kLosses) {
    const auto reason = static_cast<size_t>(loss);
    if (reason >= profile.losses.size() || profile.losses[reason] == 0) continue;
    sentences.push_back("lost: " + count(profile.losses[reason]) + " " + loss_text(loss));
  }
  return sentences;
}

}  // namespace sampan::profile
