#include "exporters/page_parts.h"

#include <algorithm>
#include <utility>

#include "base/interner.h"
#include "exporters/fitting_markers.h"
#include "profile/spans.h"

namespace sampan::exporters {
namespace {

using profile::kNone;
using profile::Markers;
using Kind = PageColumn::Kind;

// Bytes in columns, compressed, as base64, for as many as a page can draw smoothly.
constexpr MarkerBytes kBytes = {.span = 40, .event = 20, .counter = 20, .section = 30};

class MarkerColumns {
 public:
  MarkerColumns(const profile::View& view, PageMarkers* result)
      : profile_(*view.profile),
        markers_(profile_.markers),
        result_(*result),
        positions_(profile_.threads.size(), -1),
        processes_(profile_.processes.size(), -1),
        texts_(markers_.texts.size()) {
    texts_.number(0);
    int64_t processes = 0;
    for (uint32_t i = 0; i < view.threads.size(); ++i) {
      positions_[view.threads[i]] = i;
      int64_t& process = processes_[profile_.threads[view.threads[i]].process];
      if (process < 0) process = processes++;
    }
  }

  void add_spans(std::vector<uint32_t> rows) {
    sort(&rows, [&](uint32_t row) { return thread_of(markers_.spans[row]); });
    const std::vector<uint32_t> parents = profile::span_parents(profile_);
    std::vector<int64_t> places(markers_.spans.size(), -1);  // on the page
    for (size_t i = 0; i < rows.size(); ++i) places[rows[i]] = static_cast<int64_t>(i);
    PageColumn thread("spans.thread"), end_thread("spans.endThread"), begin("spans.beginNs"),
        duration("spans.durationNs"), name("spans.name"), text("spans.text"),
        parent("spans.parent"), across("spans.across", Kind::kFlags),
        closed("spans.closed", Kind::kFlags);
    for (const uint32_t row : rows) {
      const profile::Span& span = markers_.spans[row];
      thread.add(thread_of(span));
      end_thread.add(positions_[span.end_thread]);
      begin.add(static_cast<int64_t>(span.begin_ns));
      duration.add(static_cast<int64_t>(span.end_ns - span.begin_ns));
      name.add(text_of(span.name));
      text.add(text_of(span.text));
      parent.add(parents[row] == kNone ? -1 : places[parents[row]]);
      across.add(span.kind == profile::SpanKind::kAcross);
      closed.add(static_cast<int64_t>(span.closed));
    }
    take({&thread, &end_thread, &begin, &duration, &name, &text, &parent, &across, &closed});
  }

  void add_sections(const std::vector<uint32_t>& rows) {
    PageColumn process("sections.process"), thread("sections.thread"), begin("sections.beginNs"),
        duration("sections.durationNs"), name("sections.name"),
        closed("sections.closed", Kind::kFlags);
    for (const uint32_t row : rows) {
      const profile::Section& section = markers_.sections[row];
      process.add(processes_[section.process]);
      thread.add(section.thread == kNone ? -1 : positions_[section.thread]);
      begin.add(static_cast<int64_t>(section.begin_ns));
      duration.add(static_cast<int64_t>(section.end_ns - section.begin_ns));
      name.add(text_of(section.name));
      closed.add(static_cast<int64_t>(section.closed));
    }
    take({&process, &thread, &begin, &duration, &name, &closed});
  }

  void add_events(std::vector<uint32_t> rows) {
    sort(&rows, [&](uint32_t row) { return positions_[markers_.events[row].thread]; });
    PageColumn thread("events.thread"), time("events.timeNs"), name("events.name"),
        text("events.text");
    for (const uint32_t row : rows) {
      const profile::Event& event = markers_.events[row];
      thread.add(positions_[event.thread]);
      time.add(static_cast<int64_t>(event.time_ns));
      name.add(text_of(event.name));
      text.add(text_of(event.text));
    }
    take({&thread, &time, &name, &text});
  }

  void add_counters(std::vector<uint32_t> rows) {
    const auto process_of = [&](uint32_t row) {
      return processes_[profile_.threads[markers_.counters[row].thread].process];
    };
    sort(&rows,
         [&](uint32_t row) { return std::pair(process_of(row), markers_.counters[row].name); });
    PageColumn process("counters.process"), name("counters.name"), time("counters.timeNs"),
        value("counters.value", Kind::kDoubles);
    for (const uint32_t row : rows) {
      const profile::CounterValue& counter = markers_.counters[row];
      process.add(process_of(row));
      name.add(text_of(counter.name));
      time.add(static_cast<int64_t>(counter.time_ns));
      value.add_double(counter.value);
    }
    take({&process, &name, &time, &value});
  }

 private:
  // Rows are by time already.
  template <typename KeyOf>
  static void sort(std::vector<uint32_t>* rows, const KeyOf& key_of) {
    std::stable_sort(rows->begin(), rows->end(),
                     [&](uint32_t a, uint32_t b) { return key_of(a) < key_of(b); });
  }

  // Its row on the page; if the thread that began the span is not there, the one that ended it.
  int64_t thread_of(const profile::Span& span) const {
    return positions_[span.thread] >= 0 ? positions_[span.thread] : positions_[span.end_thread];
  }

  int64_t text_of(uint32_t text) {
    const auto [handle, is_new] = texts_.number(text);
    if (is_new) result_.texts.push_back(markers_.texts[text]);
    return handle;
  }

  void take(std::initializer_list<PageColumn*> columns) {
    for (PageColumn* column : columns) result_.columns.push_back(std::move(*column));
  }

  const profile::Profile& profile_;
  const Markers& markers_;
  PageMarkers& result_;
  std::vector<int64_t> positions_;  // by thread of the profile, in view.threads; -1: not there
  std::vector<int64_t> processes_;  // by process of the profile, among those of view.threads
  Renumbering texts_;               // of the markers
};

}  // namespace

PageMarkers page_markers(const profile::View& view, uint64_t max_size) {
  FittingMarkers markers = fitting_markers(view, max_size, kBytes);
  PageMarkers result;
  result.notes = std::move(markers.notes);
  MarkerColumns columns(view, &result);
  columns.add_spans(std::move(markers.rows.spans));
  columns.add_sections(markers.rows.sections);
  columns.add_events(std::move(markers.rows.events));
  columns.add_counters(std::move(markers.rows.counters));
  return result;
}

}  // namespace sampan::exporters
