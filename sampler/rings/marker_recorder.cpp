#include "sampler/rings/marker_recorder.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/clock.h"
#include "base/utf8.h"
#include "wire/control_block.h"

namespace sampan::sampler {
namespace {

using recording::kNone;
using wire::MarkerType;
using Kind = OpenIntervals::Kind;

// A producer that has not published its record for so long has gone. A shorter pause may be the
// scheduler's.
constexpr uint64_t kProducerTimeout = 1'000'000'000;
// Bounds the texts of spans that never end.
constexpr size_t kMaxKeptTexts = size_t{1} << 18;

std::string_view view(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

MarkerRecorder::MarkerRecorder(recording::Writer& writer, void* base, uint32_t slots,
                               const Process& process, const ThreadRows& threads)
    : writer_(writer),
      base_(base),
      slots_(slots),
      process_(process),
      threads_(threads),
      intervals_(writer, process.row, process.switches, session_time(process.start_ns)) {}

// Pages of unused lanes are never touched: there may be thousands of processes.
void MarkerRecorder::find_lanes() {
  const uint32_t used = std::min(
      wire::control_block(base_)->slots_used.load(std::memory_order_acquire), wire::kLaneCount);
  while (lanes_.size() < used) {
    const auto i = static_cast<uint32_t>(lanes_.size());
    lanes_.emplace_back().reader = {wire::lane_positions(base_, slots_, i),
                                    wire::lane_cells(base_, slots_, i)};
  }
}

double MarkerRecorder::note_heads(MonotonicNs now_ns) {
  noted_before_ns_ = noted_ns_;
  noted_ns_ = now_ns;
  find_lanes();
  uint64_t fullest = 0;
  for (Lane& lane : lanes_) {
    lane.limit = lane.reader.head();
    fullest = std::max(fullest, lane.reader.used(lane.limit));
  }
  return static_cast<double>(std::min<uint64_t>(fullest, wire::kLaneCells)) /
         static_cast<double>(wire::kLaneCells);
}

size_t MarkerRecorder::drain() {
  size_t records = 0;
  for (Lane& lane : lanes_) {
    if (lane.reader.blocked(lane.limit)) records += drain_lane(lane, false);
  }
  intervals_.apply(session_time(noted_before_ns_), texts_);
  return records;
}

size_t MarkerRecorder::drain_lane(Lane& lane, bool ended) {
  size_t records = 0;
  wire::LaneReader::Marker marker;
  while (true) {
    while (lane.reader.next(lane.limit, marker)) {
      ++records;
      if (!take(marker)) ++corrupt_;
    }
    if (!lane.reader.blocked(lane.limit)) break;
    const uint64_t holes = lane.reader.holes();
    pass_hole(lane, ended);
    if (lane.reader.holes() == holes) return records;
  }
  lane.blocked_since_ns = 0;
  return records;
}

void MarkerRecorder::pass_hole(Lane& lane, bool ended) {
  const uint64_t position = lane.limit - lane.reader.used(lane.limit);
  if (lane.blocked_since_ns == 0 || lane.blocked_at != position) {
    lane.blocked_at = position;
    lane.blocked_since_ns = noted_ns_;
  }
  if (ended || noted_ns_ - lane.blocked_since_ns > kProducerTimeout) {
    lane.reader.step_over_hole(lane.limit, ended);
  }
}

bool MarkerRecorder::take(const wire::LaneReader::Marker& marker) {
  const wire::MarkerRecord& record = marker.record;
  switch (static_cast<MarkerType>(record.type)) {
    case MarkerType::kSpanText: return keep(record.value[0], marker.text, &texts_);
    case MarkerType::kSpanName: return keep(record.value[0], marker.name, &span_names_);
    case MarkerType::kProcessLabel: return take_label(marker, kNone);
    case MarkerType::kPause: return take_change(Kind::kPause, record, kNone);
    case MarkerType::kResume: return take_change(Kind::kResume, record, kNone);
    default: break;
  }
  const bool of_process = (record.flags & wire::kCallingThread) == 0 &&
                          (record.type == static_cast<uint8_t>(MarkerType::kSectionStart) ||
                           record.type == static_cast<uint8_t>(MarkerType::kSectionStop));
  const uint32_t thread = of_process ? kNone : thread_row(record.tid);
  if (thread == kNone && !of_process) {
    ++no_thread_;
    return true;
  }
  return take_of_thread(marker, thread);
}

bool MarkerRecorder::keep(uint64_t id, std::span<const uint8_t> text, OpenIntervals::Texts* kept) {
  if (kept->size() >= kMaxKeptTexts) return false;
  (*kept)[id] = valid_utf8(view(text));
  return true;
}

bool MarkerRecorder::take_change(Kind kind, const wire::MarkerRecord& record, uint32_t thread,
                                 std::string name, std::string text) {
  intervals_.add({kind, session_time(MonotonicNs::at(record.value[0])), thread, record.value[1],
                  record.value[2], std::move(name), std::move(text)});
  return true;
}

bool MarkerRecorder::take_of_thread(const wire::LaneReader::Marker& marker, uint32_t thread) {
  const wire::MarkerRecord& record = marker.record;
  std::string inline_name;
  const std::string* name = &inline_name;
  if (record.name == wire::kInlineName) {
    inline_name = valid_utf8(view(marker.name));
  } else if (name = interned(record.name); name == nullptr) {
    return false;
  }
  const SessionNs time_ns = session_time(MonotonicNs::at(record.value[0]));
  switch (static_cast<MarkerType>(record.type)) {
    case MarkerType::kSpan: return take_span(record, *name, thread);
    case MarkerType::kAcrossBegin:
      return take_change(Kind::kSpanBegin, record, thread, *name, valid_utf8(view(marker.text)));
    case MarkerType::kAcrossEnd: return take_change(Kind::kSpanEnd, record, thread);
    case MarkerType::kSectionStart: return take_change(Kind::kSectionStart, record, thread, *name);
    case MarkerType::kSectionStop: return take_change(Kind::kSectionStop, record, thread, *name);
    case MarkerType::kThreadLabel: return take_label(marker, thread);
    case MarkerType::kEvent: {
      const uint32_t text = marker.text.empty() ? 0 : writer_.text(valid_utf8(view(marker.text)));
      writer_.add(recording::Event{time_ns, thread, writer_.text(*name), text});
      return true;
    }
    case MarkerType::kCounter: {
      const auto value = std::bit_cast<double>(record.value[1]);
      if (!std::isfinite(value)) return false;
      writer_.add(recording::CounterValue{time_ns, value, thread, writer_.text(*name)});
      return true;
    }
    default: return false;
  }
}

bool MarkerRecorder::take_span(const wire::MarkerRecord& record, std::string_view name,
                               uint32_t thread) {
  if (record.flags > static_cast<uint8_t>(recording::Closed::kByProcessEnd)) return false;
  recording::Span span;
  span.begin_ns = session_time(MonotonicNs::at(record.value[0]));
  span.end_ns = std::max(span.begin_ns, session_time(MonotonicNs::at(record.value[1])));
  span.id = record.value[2];
  span.parent_id = record.value[3];
  span.thread = span.end_thread = thread;
  span.closed = static_cast<recording::Closed>(record.flags);
  last_ended_[thread] = span.id;
  if (last_round_) ended_.push_back(span.id);
  write_span(span, name);
  return true;
}

void MarkerRecorder::write_span(recording::Span span, std::string_view name) {
  std::string kept;
  if (!span_names_.empty()) {
    if (auto node = span_names_.extract(span.id); !node.empty()) {
      kept = std::move(node.mapped());
      if (name.empty()) name = kept;
    }
  }
  if (!texts_.empty()) {
    if (const auto node = texts_.extract(span.id); !node.empty()) {
      span.text = writer_.text(node.mapped());
    }
  }
  span.name = writer_.text(name);
  writer_.add(span);
}

bool MarkerRecorder::take_label(const wire::LaneReader::Marker& marker, uint32_t thread) {
  recording::Label label;
  label.time_ns = session_time(MonotonicNs::at(marker.record.value[0]));
  label.process = process_.row;
  label.thread = thread;
  label.text = writer_.text(valid_utf8(view(marker.text)));
  if ((marker.record.flags & wire::kHasOrder) != 0) {
    label.order = static_cast<int32_t>(marker.record.value[1]);
  }
  writer_.add(label);
  return true;
}

void MarkerRecorder::thread_ended(uint32_t row, MonotonicNs time_ns) {
  intervals_.add({Kind::kThreadEnd, session_time(time_ns), row});
}

void MarkerRecorder::switched(bool paused, MonotonicNs time_ns) {
  intervals_.add({paused ? Kind::kPause : Kind::kResume, session_time(time_ns), kNone});
}

// Threads that have ended end no more spans.
void MarkerRecorder::end_segment(const std::vector<LiveThread>& threads, MonotonicNs time_ns) {
  intervals_.end_segment(session_time(time_ns));
  std::unordered_map<uint32_t, uint64_t> last_ended;
  for (const LiveThread& thread : threads) {
    if (auto node = last_ended_.extract(thread.row); !node.empty())
      last_ended.insert(std::move(node));
  }
  last_ended_ = std::move(last_ended);
}

// Open spans are read first: a process that goes on may end a span meanwhile, and its end is in the
// lane then.
void MarkerRecorder::finish(const std::vector<LiveThread>& threads, MonotonicNs time_ns) {
  const std::vector<OpenSpan> open = open_spans(threads);
  for (const auto& [thread, id] : last_ended_) ended_.push_back(id);
  note_heads(monotonic_ns());
  last_round_ = true;
  for (Lane& lane : lanes_) drain_lane(lane, true);
  std::sort(ended_.begin(), ended_.end());
  const SessionNs end_ns = session_time(time_ns);
  for (const OpenSpan& span : open) {
    if (!std::binary_search(ended_.begin(), ended_.end(), span.id)) write_open(span, end_ns);
  }
  intervals_.finish(end_ns, texts_);
}

std::vector<MarkerRecorder::OpenSpan> MarkerRecorder::open_spans(
    const std::vector<LiveThread>& threads) const {
  std::vector<OpenSpan> open;
  for (const LiveThread& thread : threads) {
    wire::OpenSpans& spans = wire::thread_slot(base_, thread.slot)->open;
    for (wire::OpenSpan& span : spans.spans) {
      const uint64_t id = span.id.load(std::memory_order_acquire);
      if (id == 0) continue;
      const std::atomic_ref<uint64_t> begin(span.begin_ns), parent(span.parent_id);
      const std::atomic_ref<uint32_t> name(span.name);
      OpenSpan copy{id, MonotonicNs::at(begin.load(std::memory_order_relaxed)),
                    parent.load(std::memory_order_relaxed), name.load(std::memory_order_relaxed),
                    thread.row};
      std::atomic_thread_fence(std::memory_order_acquire);
      if (span.id.load(std::memory_order_relaxed) == id) open.push_back(copy);
    }
  }
  return open;
}

void MarkerRecorder::write_open(const OpenSpan& open, SessionNs end_ns) {
  const std::string none;
  const std::string* name = open.name == wire::kInlineName ? &none : interned(open.name);
  if (name == nullptr) {
    ++corrupt_;
    return;
  }
  recording::Span span;
  span.begin_ns = session_time(open.begin_ns);
  span.end_ns = std::max(span.begin_ns, end_ns);
  span.id = open.id;
  span.parent_id = open.parent_id;
  span.thread = span.end_thread = open.thread;
  span.closed = recording::Closed::kByProcessEnd;
  write_span(span, *name);
}

void MarkerRecorder::read_names() {
  wire::MarkerNames* names = wire::marker_names(base_, slots_);
  const uint32_t count =
      std::min(names->count.load(std::memory_order_acquire), wire::kMaxMarkerNames);
  while (names_.size() < count) {
    const wire::MarkerNames::Entry entry = names->entries[names_.size()];
    const bool inside =
        entry.size <= wire::kMarkerNamesText && entry.offset <= wire::kMarkerNamesText - entry.size;
    if (!inside) ++corrupt_;
    const std::string text(view({names->text + (inside ? entry.offset : 0),
                                 inside ? std::min<size_t>(entry.size, wire::kMaxMarkerText) : 0}));
    names_.push_back(inside ? valid_utf8(text) : "[damaged name]");
  }
}

const std::string* MarkerRecorder::interned(uint32_t name) {
  if (name >= names_.size()) read_names();
  return name < names_.size() ? &names_[name] : nullptr;
}

uint32_t MarkerRecorder::thread_row(int32_t tid) const {
  const auto found = threads_.find(tid);
  return found == threads_.end() ? kNone : found->second;
}

void MarkerRecorder::add_losses(recording::Losses* losses) const {
  const auto of = [losses](wire::Loss loss) -> uint64_t& {
    return losses->count[static_cast<size_t>(loss)];
  };
  of(wire::Loss::kRingCorrupt) += corrupt_;
  of(wire::Loss::kMarkerNoThread) += no_thread_;
  of(wire::Loss::kMarkerUnmatched) += intervals_.unmatched();
  for (const Lane& lane : lanes_) {
    of(wire::Loss::kRingCorrupt) += lane.reader.corrupt();
    of(wire::Loss::kMarkerHole) += lane.reader.holes();
    of(wire::Loss::kMarkerFull) += lane.reader.dropped();
  }
}

}  // namespace sampan::sampler
