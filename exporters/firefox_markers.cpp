#include "exporters/firefox_markers.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "exporters/escaped_text.h"
#include "exporters/firefox_tables.h"

namespace sampan::exporters {
namespace {

using profile::kNone;
using profile::Span;
using profile::SpanKind;

// Including the commas and times of their rows; names are written once.
constexpr MarkerBytes kBytes = {.span = 130, .event = 70, .counter = 40, .section = 110};

enum Phase : uint64_t { kInstant = 0, kInterval = 1 };

}  // namespace

FirefoxMarkers::FirefoxMarkers(const profile::View& view, uint64_t max_size,
                               const std::vector<std::string>& pids, FirefoxTables* tables)
    : profile_(*view.profile),
      tables_(*tables),
      positions_(profile_.threads.size(), kNone),
      process_positions_(profile_.processes.size(), kNone),
      by_position_(view.threads.size()) {
  for (uint32_t i = 0; i < view.threads.size(); ++i) {
    positions_[view.threads[i]] = i;
    uint32_t& of_process = process_positions_[profile_.threads[view.threads[i]].process];
    if (of_process == kNone) of_process = i;
  }
  FittingMarkers markers = fitting_markers(view, max_size, kBytes);
  notes_ = std::move(markers.notes);
  add_spans(markers.rows.spans);
  add_sections(markers.rows.sections);
  add_events(markers.rows.events);
  add_counters(markers.rows.counters, pids);
  size_ += counters_.size();
}

std::string_view FirefoxMarkers::schema_json() {
  return R"([{"name":"span","tableLabel":"{marker.name} {marker.data.text}",)"
         R"("chartLabel":"{marker.name}","display":["marker-chart","marker-table"],)"
         R"("isStackBased":true,"fields":[{"key":"text","label":"Text","format":"string"},)"
         R"({"key":"id","label":"Id","format":"string"},)"
         R"({"key":"parent","label":"Parent","format":"string"},)"
         R"({"key":"closed","label":"Closed","format":"string"}]},)"
         R"({"name":"span across threads","tableLabel":"{marker.name} {marker.data.text}",)"
         R"("chartLabel":"{marker.name}","display":["marker-chart","marker-table"],)"
         R"("fields":[{"key":"text","label":"Text","format":"string"},)"
         R"({"key":"id","label":"Id","format":"string"},)"
         R"({"key":"parent","label":"Parent","format":"string"},)"
         R"({"key":"end","label":"Ended by","format":"string"},)"
         R"({"key":"closed","label":"Closed","format":"string"}]},)"
         R"({"name":"section","chartLabel":"{marker.name}","tableLabel":"{marker.name}",)"
         R"("display":["marker-chart","marker-table","timeline-overview"],)"
         R"("fields":[{"key":"threads","label":"Threads","format":"string"},)"
         R"({"key":"closed","label":"Closed","format":"string"}]},)"
         R"({"name":"event","tableLabel":"{marker.name} {marker.data.text}",)"
         R"("chartLabel":"{marker.name}","display":["marker-chart","marker-table"],)"
         R"("fields":[{"key":"text","label":"Text","format":"string"}]}])";
}

std::string FirefoxMarkers::table_json(size_t position) const {
  const Table& table = by_position_[position];
  return fmt::format(
      R"({{"data":[{}],"name":[{}],"startTime":[{}],"endTime":[{}],"phase":[{}],"category":[{}],)"
      R"("length":{}}})",
      table.data.text(), table.name.text(), table.begin.text(), table.end.text(),
      table.phase.text(), table.category.text(), table.length);
}

std::string FirefoxMarkers::counters_json() const {
  return "[" + counters_ + "]";
}

void FirefoxMarkers::add(uint32_t position, uint32_t name, SessionNs begin_ns, SessionNs end_ns,
                         bool is_moment, const std::string& data) {
  constexpr uint64_t kSizeWithoutData = 60;
  Table& table = by_position_[position];
  table.data.add_text(data);
  table.name.add(uint64_t{tables_.string(profile_.markers.texts[name])});
  table.begin.add_text(milliseconds(begin_ns));
  table.end.add_text(is_moment ? "null" : milliseconds(end_ns));
  table.phase.add(is_moment ? kInstant : kInterval);
  table.category.add(uint64_t{0});
  ++table.length;
  size_ += data.size() + kSizeWithoutData;
}

void FirefoxMarkers::add_spans(const std::vector<uint32_t>& rows) {
  for (const uint32_t row : rows) {
    const Span& span = profile_.markers.spans[row];
    const bool nested = span.kind == SpanKind::kNested;
    std::string data = fmt::format(R"({{"type":"{}","id":"{}")",
                                   nested ? "span" : "span across threads", span_id(span.id));
    if (span.parent_id != 0) data += fmt::format(R"(,"parent":"{}")", span_id(span.parent_id));
    if (span.text != 0) {
      data += fmt::format(R"(,"text":{})", json_string(profile_.markers.texts[span.text]));
    }
    if (!nested) {
      const profile::Thread& thread = profile_.threads[span.end_thread];
      data +=
          fmt::format(R"(,"end":{})", json_string(fmt::format("{} ({})", thread.name, thread.tid)));
    }
    const std::string_view closed = closed_text(span.closed);
    if (!closed.empty()) data += fmt::format(R"(,"closed":"{}")", closed);
    const uint32_t begun = positions_[span.thread];
    add(begun != kNone ? begun : positions_[span.end_thread], span.name, span.begin_ns, span.end_ns,
        false, data + "}");
  }
}

void FirefoxMarkers::add_sections(const std::vector<uint32_t>& rows) {
  for (const uint32_t row : rows) {
    const profile::Section& section = profile_.markers.sections[row];
    const bool of_all = section.thread == kNone;
    const std::string_view closed = closed_text(section.closed);
    add(of_all ? process_positions_[section.process] : positions_[section.thread], section.name,
        section.begin_ns, section.end_ns, false,
        fmt::format(R"({{"type":"section","threads":"{}"{}}})", of_all ? "all" : "one",
                    closed.empty() ? "" : fmt::format(R"(,"closed":"{}")", closed)));
  }
}

void FirefoxMarkers::add_events(const std::vector<uint32_t>& rows) {
  for (const uint32_t row : rows) {
    const profile::Event& event = profile_.markers.events[row];
    add(positions_[event.thread], event.name, event.time_ns, event.time_ns, true,
        event.text == 0 ? R"({"type":"event"})"
                        : fmt::format(R"({{"type":"event","text":{}}})",
                                      json_string(profile_.markers.texts[event.text])));
  }
}

void FirefoxMarkers::add_counters(const std::vector<uint32_t>& rows,
                                  const std::vector<std::string>& pids) {
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> counters;  // by process and name
  for (const uint32_t row : rows) {
    const profile::CounterValue& value = profile_.markers.counters[row];
    counters[{profile_.threads[value.thread].process, value.name}].push_back(row);
  }
  for (const auto& [key, values] : counters) {
    const auto& [process, name] = key;
    FirefoxColumn time, change;
    time.add_text(milliseconds(profile_.markers.counters[values.front()].time_ns));
    change.add(uint64_t{0});
    double last = 0;
    for (const uint32_t row : values) {
      const profile::CounterValue& value = profile_.markers.counters[row];
      time.add_text(milliseconds(value.time_ns));
      change.add_text(fmt::format("{}", value.value - last));
      last = value.value;
    }
    const std::string label = json_string(profile_.markers.texts[name]);
    if (!counters_.empty()) counters_ += ",\n";
    counters_ += fmt::format(
        R"({{"name":{0},"category":"Markers","description":"","pid":"{1}","mainThreadIndex":{2},)"
        R"("samples":{{"time":[{3}],"count":[{4}],"length":{5}}},)"
        R"("display":{{"graphType":"line-accumulated","unit":"","color":"purple",)"
        R"("markerSchemaLocation":null,"sortWeight":50,"label":{0},"tooltipRows":[{{"type":"value",)"
        R"("source":"accumulated","format":{{"unit":"number"}},"label":{0}}}]}}}})",
        label, pids[process], process_positions_[process], time.text(), change.text(),
        values.size() + 1);
  }
}

}  // namespace sampan::exporters
