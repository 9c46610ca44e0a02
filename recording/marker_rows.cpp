#include <algorithm>
#include <bit>
#include <cmath>

#include "recording/marker_rows.h"
#include "recording/rows.h"

namespace sampan::recording {
namespace {

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

  // The block's own texts, as indexes of all.
  void texts(TextTable* all) {
    texts_.resize(1);
    for (uint32_t left = in_.count(); left > 0 && in_.ok(); --left) {
      texts_.push_back(all->index(in_.view()));
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
      row.begin_ns = in_.uleb();
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
      row.begin_ns = in_.uleb();
      row.end_ns = later(row.begin_ns);
      row.process = in_.index(to_->processes.size());
    }
  }

  void labels() {
    for (uint32_t left = in_.count(); left > 0 && in_.ok(); --left) {
      Label& row = to_->markers.labels.emplace_back();
      row.time_ns = in_.uleb();
      row.process = in_.index(to_->processes.size());
      row.thread = in_.ref(to_->threads.size());
      row.text = text();
      row.order = in_.maybe_i32();
    }
  }

  bool whole() const { return in_.ok() && in_.at_end(); }

 private:
  template <typename Row>
  std::span<Row> append(std::vector<Row>* rows) {
    const size_t first = rows->size();
    const size_t end = first + in_.count();
    if (end > rows->capacity()) {
      rows->reserve(static_cast<size_t>(static_cast<double>(end) * std::max(growth_, 1.0)));
    }
    rows->resize(end);
    return std::span(*rows).subspan(first);
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
  uint64_t later(uint64_t begin_ns) {
    const uint64_t end_ns = begin_ns + in_.uleb();
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

// How many rows there were, to go back to.
struct Sizes {
  explicit Sizes(const Recording& from)
      : processes(from.processes.size()),
        threads(from.threads.size()),
        spans(from.markers.spans.size()),
        events(from.markers.events.size()),
        counters(from.markers.counters.size()),
        sections(from.markers.sections.size()),
        pauses(from.markers.pauses.size()),
        labels(from.markers.labels.size()) {}
  void restore(Recording* to) const {
    to->processes.resize(processes);
    to->threads.resize(threads);
    to->markers.spans.resize(spans);
    to->markers.events.resize(events);
    to->markers.counters.resize(counters);
    to->markers.sections.resize(sections);
    to->markers.pauses.resize(pauses);
    to->markers.labels.resize(labels);
  }
  size_t processes, threads, spans, events, counters, sections, pauses, labels;
};

}  // namespace

bool decode_markers(std::span<const uint8_t> payload, double growth, uint64_t* lost_rows,
                    TextTable* texts, Recording* recording) {
  const Sizes sizes(*recording);
  Decoder decoder(payload, growth, recording);
  decoder.gaps(lost_rows);
  decoder.texts(texts);
  decoder.spans();
  decoder.events();
  decoder.counters();
  decoder.sections();
  decoder.pauses();
  decoder.labels();
  if (!decoder.whole()) {
    sizes.restore(recording);
    return false;
  }
  return true;
}

}  // namespace sampan::recording
