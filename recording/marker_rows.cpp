// The payload of kMarkers (format.h).
#include "recording/codec.h"

#include <algorithm>
#include <bit>
#include <cmath>

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

void encode_steps(const std::vector<Step>& rows, ColumnWriter* out) {
  out->uleb(rows.size());
  encode_deltas(rows, &Step::thread, out);
  encode_deltas(rows, &Step::begin_ns, out);
  for (const Step& row : rows) out->uleb(row.end_ns - row.begin_ns);
  encode_deltas(rows, &Step::id, out);
  encode_deltas(rows, &Step::task, out);
  encode_column(rows, &Step::name, out);
  encode_column(rows, &Step::text, out);
  for (const Step& row : rows) out->u8(static_cast<uint8_t>(row.kind));
}

class Decoder {
 public:
  Decoder(std::span<const uint8_t> payload, double growth, Recording* to)
      : in_(payload), growth_(growth), to_(to) {}

  void gaps(uint64_t* lost_rows) {
    RowCounts before = counts_of(*to_);
    before.processes = in_.uleb();
    before.threads = in_.uleb();
    if (!fill_gaps(before, lost_rows, to_)) in_.fail();
  }

  // The handles of the block's texts in the table of all texts.
  void texts(TextTable<>* all) {
    texts_.resize(1);
    for (uint32_t left = in_.count(); left > 0 && in_.ok(); --left) {
      texts_.push_back(all->handle(in_.view()));
    }
  }

  void spans() {
    const std::span<Span> rows = append(&to_->markers.spans);
    deltas(rows, &Span::thread);
    deltas(rows, &Span::begin_ns);
    for (Span& row : rows) row.end_ns = later(row.begin_ns);
    deltas(rows, &Span::id);
    deltas(rows, &Span::parent_id);
    column(rows, &Span::name);
    column(rows, &Span::text);
    for (Span& row : rows) row.end_thread = thread(in_.delta(row.thread));
    for (Span& row : rows) {
      const uint8_t how = in_.u8();
      if (how >> 4 >= kSpanKindCount) in_.fail();
      row.kind = static_cast<SpanKind>(how >> 4);
      row.closed = closed(how & 0xf);
    }
  }

  void events() {
    const std::span<Event> rows = append(&to_->markers.events);
    deltas(rows, &Event::thread);
    deltas(rows, &Event::time_ns);
    column(rows, &Event::name);
    column(rows, &Event::text);
  }

  void counters() {
    const std::span<CounterValue> rows = append(&to_->markers.counters);
    deltas(rows, &CounterValue::thread);
    deltas(rows, &CounterValue::time_ns);
    column(rows, &CounterValue::name);
    for (CounterValue& row : rows) {
      row.value = std::bit_cast<double>(in_.u64());
      if (!std::isfinite(row.value)) in_.fail();
    }
  }

  void sections() {
    for (uint32_t left = in_.count(); left > 0 && in_.ok(); --left) {
      Section& row = to_->markers.sections.emplace_back();
      row.begin_ns = in_.time();
      row.end_ns = later(row.begin_ns);
      row.process = in_.index(to_->processes.size());
      row.thread = in_.ref(to_->threads.size());
      row.name = text();
      row.closed = closed(in_.u8());
    }
  }

  void pauses() {
    for (uint32_t left = in_.count(); left > 0 && in_.ok(); --left) {
      Pause& row = to_->markers.pauses.emplace_back();
      row.begin_ns = in_.time();
      row.end_ns = later(row.begin_ns);
      row.process = in_.index(to_->processes.size());
    }
  }

  void labels() {
    for (uint32_t left = in_.count(); left > 0 && in_.ok(); --left) {
      Label& row = to_->markers.labels.emplace_back();
      row.time_ns = in_.time();
      row.process = in_.index(to_->processes.size());
      row.thread = in_.ref(to_->threads.size());
      row.text = text();
      row.order = in_.maybe_i32();
    }
  }

  void steps() {
    if (in_.at_end()) return;  // there are none
    const std::span<Step> rows = append(&to_->markers.steps);
    deltas(rows, &Step::thread);
    deltas(rows, &Step::begin_ns);
    for (Step& row : rows) row.end_ns = later(row.begin_ns);
    deltas(rows, &Step::id);
    deltas(rows, &Step::task);
    column(rows, &Step::name);
    column(rows, &Step::text);
    for (Step& row : rows) {
      const uint8_t kind = in_.u8();
      if (kind == 0 || kind >= kStepKindCount) in_.fail();
      row.kind = static_cast<StepKind>(kind);
    }
  }

  bool whole() const { return in_.ok() && in_.at_end(); }

 private:
  template <typename Row>
  std::span<Row> append(std::vector<Row>* rows) {
    const size_t first = rows->size();
    const size_t end = first + in_.count();
    resize_growing(end, growth_, rows);
    return std::span(*rows).subspan(first);
  }

  void deltas(auto rows, SessionNs std::remove_reference_t<decltype(rows[0])>::*member) {
    uint64_t before = 0;
    for (auto& row : rows) row.*member = SessionNs::at(before = in_.delta(before));
  }
  void deltas(auto rows, uint64_t std::remove_reference_t<decltype(rows[0])>::*member) {
    uint64_t before = 0;
    for (auto& row : rows) row.*member = before = in_.delta(before);
  }
  void deltas(auto rows, uint32_t std::remove_reference_t<decltype(rows[0])>::*member) {
    uint64_t before = 0;
    for (auto& row : rows) row.*member = thread(before = in_.delta(before));
  }
  void column(auto rows, uint32_t std::remove_reference_t<decltype(rows[0])>::*member) {
    for (auto& row : rows) row.*member = text();
  }

  uint32_t thread(uint64_t index) {
    if (index >= to_->threads.size()) in_.fail();
    return static_cast<uint32_t>(index);
  }
  uint32_t text() {
    const uint64_t index = in_.uleb();
    if (index >= texts_.size()) in_.fail();
    return in_.ok() ? texts_[index] : 0;
  }
  SessionNs later(SessionNs begin_ns) {
    const SessionNs end_ns = begin_ns + in_.uleb();
    if (end_ns < begin_ns) in_.fail();
    return end_ns;
  }
  Closed closed(unsigned how) {
    if (how >= kClosedCount) in_.fail();
    return static_cast<Closed>(how);
  }

  ColumnReader in_;
  double growth_;
  Recording* to_;
  std::vector<uint32_t> texts_;
};

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
  if (!markers.steps.empty()) encode_steps(markers.steps, out);
}

bool decode_markers(std::span<const uint8_t> payload, double growth, uint64_t* lost_rows,
                    TextTable<>* texts, Recording* recording) {
  const size_t processes = recording->processes.size(), threads = recording->threads.size();
  const Sizes sizes(kMarkerTables, recording->markers);
  Decoder decoder(payload, growth, recording);
  decoder.gaps(lost_rows);
  decoder.texts(texts);
  decoder.spans();
  decoder.events();
  decoder.counters();
  decoder.sections();
  decoder.pauses();
  decoder.labels();
  decoder.steps();
  if (!decoder.whole()) {
    recording->processes.resize(processes);
    recording->threads.resize(threads);
    sizes.restore(&recording->markers);
    return false;
  }
  return true;
}

}  // namespace sampan::recording
