#include "exporters/trace_markers.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "exporters/escaped_text.h"
#include "exporters/trace_events.h"

namespace sampan::exporters {
namespace {

using profile::Span;
using profile::SpanKind;

// The bytes around names and texts.
constexpr MarkerBytes kBytes = {
    .span = 236, .event = 110, .counter = 80, .section = 262, .names = 2};

// Names of chrome://tracing's colours, as in trace_events.cpp. None is that of a wait.
constexpr std::string_view kSpanColour = "good";                    // green
constexpr std::string_view kSectionColour = "thread_state_iowait";  // orange
constexpr std::string_view kPauseColour = "black";

std::string microseconds(uint64_t ns) {
  return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
}

}  // namespace

TraceMarkers::TraceMarkers(const profile::View& view, uint64_t max_size)
    : view_(view),
      profile_(*view.profile),
      pids_(trace_pids(profile_)),
      markers_(fitting_markers(view, max_size, kBytes)),
      spans_(profile_.threads.size()),
      events_(profile_.threads.size()) {
  const profile::Markers& markers = profile_.markers;
  for (const uint32_t row : markers_.rows.spans) {
    const Span& span = markers.spans[row];
    if (span.kind == SpanKind::kNested) spans_[span.thread].push_back(row);
  }
  for (const uint32_t row : markers_.rows.events)
    events_[markers.events[row].thread].push_back(row);
}

void TraceMarkers::write(const Write& write) const {
  for (uint32_t thread = 0; thread < spans_.size(); ++thread) {
    if (has_track(thread)) write_track(thread, write);
  }
  for (const uint32_t row : markers_.rows.spans) {
    const Span& span = profile_.markers.spans[row];
    if (span.kind == SpanKind::kAcross) write_async_span(span, write);
  }
  write_sections(write);
  write_counters(write);
  write_pauses(write);
}

// By time: some viewers refuse an event that is older than the previous one of its track.
void TraceMarkers::write_track(uint32_t thread, const Write& write) const {
  const profile::Markers& markers = profile_.markers;
  const std::string place =
      fmt::format(R"("pid":{},"tid":{})", pids_[profile_.threads[thread].process],
                  profile_.threads[thread].tid + kMarkerTrack);
  struct Open {
    SessionNs end_ns;
    uint32_t name;
  };
  std::vector<Open> open;  // outermost first
  auto next_event = events_[thread].begin();
  const auto write_events_before = [&](SessionNs time_ns) {
    for (; next_event != events_[thread].end(); ++next_event) {
      const profile::Event& event = markers.events[*next_event];
      if (event.time_ns >= time_ns) return;
      write(fmt::format(R"({{"name":{},"cat":"event","ph":"i","s":"t","ts":{},{}{}}})",
                        json_string(markers.texts[event.name]), microseconds(event.time_ns), place,
                        event.text == 0 ? ""
                                        : fmt::format(R"(,"args":{{"text":{}}})",
                                                      json_string(markers.texts[event.text]))));
    }
  };
  const auto close_before = [&](SessionNs time_ns) {
    while (!open.empty() && open.back().end_ns <= time_ns) {
      const Open last = open.back();
      write_events_before(last.end_ns);
      write(fmt::format(R"({{"name":{},"ph":"E","ts":{},{}}})",
                        json_string(markers.texts[last.name]), microseconds(last.end_ns), place));
      open.pop_back();
    }
  };

  for (const uint32_t row : spans_[thread]) {
    const Span& span = markers.spans[row];
    const SessionNs begin_ns = std::max(span.begin_ns, view_.from_ns);
    const SessionNs end_ns = std::min(span.end_ns, view_.to_ns);
    close_before(begin_ns);
    write_events_before(begin_ns);
    if (!open.empty() && end_ns > open.back().end_ns) {
      write_async_span(span, write);
      continue;
    }
    write(fmt::format(R"({{"name":{},"cat":"span","cname":"{}","ph":"B","ts":{},{},"args":{}}})",
                      json_string(markers.texts[span.name]), kSpanColour, microseconds(begin_ns),
                      place, arguments(span)));
    open.push_back({end_ns, span.name});
  }
  close_before(UINT64_MAX);
  write_events_before(UINT64_MAX);
}

void TraceMarkers::write_async_span(const Span& span, const Write& write) const {
  const auto event = [&](char phase, SessionNs time_ns, uint32_t thread, const std::string& rest) {
    const profile::Thread& row = profile_.threads[thread];
    write(fmt::format(
        R"({{"name":{},"cat":"span","ph":"{}","id2":{{"local":"{:#x}"}},"ts":{},"pid":{},"tid":{}{}}})",
        json_string(profile_.markers.texts[span.name]), phase, span.id, microseconds(time_ns),
        pids_[row.process], row.tid, rest));
  };
  event('b', std::max(span.begin_ns, view_.from_ns), span.thread,
        fmt::format(R"(,"cname":"{}","args":{})", kSpanColour, arguments(span)));
  event('e', std::min(span.end_ns, view_.to_ns), span.end_thread, "");
}

void TraceMarkers::write_sections(const Write& write) const {
  for (const uint32_t row : markers_.rows.sections) {
    const profile::Section& section = profile_.markers.sections[row];
    const bool of_all = section.thread == profile::kNone;
    const int32_t pid = pids_[section.process];
    const std::string_view closed = closed_text(section.closed);
    const std::string head = fmt::format(
        R"({{"name":{},"cat":"section","id2":{{"local":"section {}"}},"pid":{},"tid":{})",
        json_string(profile_.markers.texts[section.name]), row, pid,
        of_all ? pid : profile_.threads[section.thread].tid);
    write(fmt::format(R"({},"cname":"{}","ph":"b","ts":{},"args":{{"threads":"{}"{}{}}}}})", head,
                      kSectionColour, microseconds(std::max(section.begin_ns, view_.from_ns)),
                      of_all ? "all" : "one",
                      closed.empty() ? "" : fmt::format(R"(,"closed":"{}")", closed),
                      cut_argument(section.begin_ns, section.end_ns)));
    write(fmt::format(R"({},"ph":"e","ts":{}}})", head,
                      microseconds(std::min(section.end_ns, view_.to_ns))));
  }
}

void TraceMarkers::write_counters(const Write& write) const {
  for (const uint32_t row : markers_.rows.counters) {
    const profile::CounterValue& value = profile_.markers.counters[row];
    const int32_t pid = pids_[profile_.threads[value.thread].process];
    write(fmt::format(R"({{"name":{},"ph":"C","pid":{},"ts":{},"args":{{"value":{}}}}})",
                      json_string(profile_.markers.texts[value.name]), pid,
                      microseconds(value.time_ns), value.value));
  }
}

// The intervals without samples because sampling was off.
void TraceMarkers::write_pauses(const Write& write) const {
  const std::vector<profile::Pause>& pauses = profile_.markers.pauses;
  std::set<uint32_t> processes;
  for (const uint32_t thread : view_.threads) processes.insert(profile_.threads[thread].process);
  for (size_t row = 0; row < pauses.size(); ++row) {
    const profile::Pause& pause = pauses[row];
    if (!processes.contains(pause.process) ||
        !view_.meets_process(pause.process, pause.begin_ns, pause.end_ns)) {
      continue;
    }
    const int32_t pid = pids_[pause.process];
    const std::string head = fmt::format(
        R"({{"name":"sampling paused","cat":"pause","id2":{{"local":"pause {}"}},"pid":{},"tid":{})",
        row, pid, pid);
    write(fmt::format(R"({},"cname":"{}","ph":"b","ts":{}}})", head, kPauseColour,
                      microseconds(std::max(pause.begin_ns, view_.from_ns))));
    write(fmt::format(R"({},"ph":"e","ts":{}}})", head,
                      microseconds(std::min(pause.end_ns, view_.to_ns))));
  }
}

std::string TraceMarkers::arguments(const Span& span) const {
  std::string text = fmt::format(R"({{"id":"{}")", span_id(span.id));
  if (span.parent_id != 0) text += fmt::format(R"(,"parent":"{}")", span_id(span.parent_id));
  if (span.text != 0) {
    text += fmt::format(R"(,"text":{})", json_string(profile_.markers.texts[span.text]));
  }
  const std::string_view closed = closed_text(span.closed);
  if (!closed.empty()) text += fmt::format(R"(,"closed":"{}")", closed);
  return text + cut_argument(span.begin_ns, span.end_ns) + "}";
}

std::string TraceMarkers::cut_argument(SessionNs begin_ns, SessionNs end_ns) const {
  if (begin_ns >= view_.from_ns && end_ns <= view_.to_ns) return "";
  return fmt::format(R"(,"duration_ms":{:.6f})", static_cast<double>(end_ns - begin_ns) / 1e6);
}

}  // namespace sampan::exporters
