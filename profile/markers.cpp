#include "profile/view_markers.h"

namespace sampan::profile {
namespace {

template <typename Row, typename IsOfView>
std::vector<uint32_t> rows_of(const std::vector<Row>& rows, const IsOfView& is_of_view) {
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < rows.size(); ++i) {
    if (is_of_view(rows[i])) found.push_back(i);
  }
  return found;
}

}  // namespace

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
  const auto is_of = [&](uint32_t thread, uint64_t begin_ns, uint64_t end_ns) {
    return has[thread] && view.meets(thread, begin_ns, end_ns);
  };
  const auto is_of_process = [&](uint32_t process, uint64_t begin_ns, uint64_t end_ns) {
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

}  // namespace sampan::profile
