#include <bit>

#include "recording/marker_rows.h"

namespace sampan::recording {
namespace {

// A column of differences, each to the row before.
template <typename Row, typename Value>
void encode_deltas(const std::vector<Row>& rows, Value Row::*member, ColumnWriter* out) {
  uint64_t before = 0;
  for (const Row& row : rows) {
    out->delta(row.*member, before);
    before = row.*member;
  }
}

template <typename Row>
void encode_column(const std::vector<Row>& rows, uint32_t Row::*member, ColumnWriter* out) {
  for (const Row& row : rows) out->uleb(row.*member);
}

void encode_spans(const std::vector<Span>& rows, ColumnWriter* out) {
  out->uleb(rows.size());
  encode_deltas(rows, &Span::thread, out);
  encode_deltas(rows, &Span::begin_ns, out);
  for (const Span& row : rows) out->uleb(row.end_ns - row.begin_ns);
  encode_deltas(rows, &Span::id, out);
  encode_deltas(rows, &Span::parent_id, out);
  encode_column(rows, &Span::name, out);
  encode_column(rows, &Span::text, out);
  for (const Span& row : rows) out->delta(row.end_thread, row.thread);
  for (const Span& row : rows) {
    out->u8(static_cast<uint8_t>(static_cast<unsigned>(row.kind) << 4 |
                                 static_cast<unsigned>(row.closed)));
  }
}

void encode_events(const std::vector<Event>& rows, ColumnWriter* out) {
  out->uleb(rows.size());
  encode_deltas(rows, &Event::thread, out);
  encode_deltas(rows, &Event::time_ns, out);
  encode_column(rows, &Event::name, out);
  encode_column(rows, &Event::text, out);
}

void encode_counters(const std::vector<CounterValue>& rows, ColumnWriter* out) {
  out->uleb(rows.size());
  encode_deltas(rows, &CounterValue::thread, out);
  encode_deltas(rows, &CounterValue::time_ns, out);
  encode_column(rows, &CounterValue::name, out);
  for (const CounterValue& row : rows) out->u64(std::bit_cast<uint64_t>(row.value));
}

}  // namespace

void encode_markers(const Markers& markers, uint64_t processes, uint64_t threads,
                    ColumnWriter* out) {
  out->uleb(processes);
  out->uleb(threads);
  out->uleb(markers.texts.size() - 1);
  for (size_t i = 1; i < markers.texts.size(); ++i) out->string(markers.texts[i]);
  encode_spans(markers.spans, out);
  encode_events(markers.events, out);
  encode_counters(markers.counters, out);
  out->uleb(markers.sections.size());
  for (const Section& row : markers.sections) {
    out->uleb(row.begin_ns);
    out->uleb(row.end_ns - row.begin_ns);
    out->uleb(row.process);
    out->ref(row.thread);
    out->uleb(row.name);
    out->u8(static_cast<uint8_t>(row.closed));
  }
  out->uleb(markers.pauses.size());
  for (const Pause& row : markers.pauses) {
    out->uleb(row.begin_ns);
    out->uleb(row.end_ns - row.begin_ns);
    out->uleb(row.process);
  }
  out->uleb(markers.labels.size());
  for (const Label& row : markers.labels) {
    out->uleb(row.time_ns);
    out->uleb(row.process);
    out->ref(row.thread);
    out->uleb(row.text);
    out->maybe(std::optional<int>(row.order));
  }
}

}  // namespace sampan::recording
