// Turns the markers of one process, from its lanes (wire/marker_lane.h), into rows of the
// recording.
//
// In a round, the heads of the lanes are noted before the rings of samples are read, and the lanes
// are read up to the notes after them. So the thread of every marker has announced itself.
//
// Everything in the lanes was written by a program that may have overwritten it: it is copied, then
// checked; what makes no sense is counted as Loss::kRingCorrupt.
//
// Errors: throws Error when the recording cannot be written.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"
#include "recording/writer.h"
#include "sampler/recorder/recorded_process.h"
#include "sampler/rings/open_intervals.h"
#include "wire/marker_lane.h"

namespace sampan::sampler {

class MarkerRecorder {
 public:
  struct Process {
    uint32_t row;
    SessionClock clock;
    MonotonicNs start_ns;  // of this image
    OpenIntervals::Switches switches;
  };
  using ThreadRows = std::unordered_map<int32_t, uint32_t>;  // by tid
  // `base` is memory of wire/control_block.h with so many slots; it and `threads` outlive this.
  MarkerRecorder(recording::Writer& writer, void* base, uint32_t slots, const Process& process,
                 const ThreadRows& threads);

  // Returns the share of the fullest lane that is in use.
  double note_heads(MonotonicNs now_ns);
  // Returns how many records there were.
  size_t drain();

  void thread_ended(uint32_t row, MonotonicNs time_ns);
  // `ctl` has paused or resumed sampling.
  void switched(bool paused, MonotonicNs time_ns);

  bool sections_allow_sampling() const { return intervals_.sections_allow_sampling(); }

  struct LiveThread {
    uint32_t slot;
    uint32_t row;
  };
  // The segment of the recording ends.
  void end_segment(const std::vector<LiveThread>& threads, MonotonicNs time_ns);
  // Drains for the last time, and closes what is open.
  void finish(const std::vector<LiveThread>& threads, MonotonicNs time_ns);

  void add_losses(recording::Losses* losses) const;

 private:
  struct Lane {
    wire::LaneReader reader;
    uint64_t limit = 0;                // the head that was noted
    uint64_t blocked_at = 0;           // the record here is not complete ...
    MonotonicNs blocked_since_ns = 0;  // ... since this time; 0: it is
  };
  struct OpenSpan {
    uint64_t id;
    MonotonicNs begin_ns;
    uint64_t parent_id;
    uint32_t name;
    uint32_t thread;  // row
  };

  void find_lanes();
  size_t drain_lane(Lane& lane, bool ended);
  void pass_hole(Lane& lane, bool ended);
  // False when the record makes no sense.
  bool take(const wire::LaneReader::Marker& marker);
  bool take_of_thread(const wire::LaneReader::Marker& marker, uint32_t thread);
  bool take_span(const wire::MarkerRecord& record, std::string_view name, uint32_t thread);
  bool take_label(const wire::LaneReader::Marker& marker, uint32_t thread);
  bool take_change(OpenIntervals::Kind kind, const wire::MarkerRecord& record, uint32_t thread,
                   std::string name = {}, std::string text = {});
  static bool keep(uint64_t id, std::span<const uint8_t> text, OpenIntervals::Texts* kept);
  std::vector<OpenSpan> open_spans(const std::vector<LiveThread>& threads) const;
  void write_open(const OpenSpan& span, SessionNs end_ns);
  void write_span(recording::Span span, std::string_view name);
  void read_names();
  // Null: there is no such name.
  const std::string* interned(uint32_t name);
  uint32_t thread_row(int32_t tid) const;
  SessionNs session_time(MonotonicNs time_ns) const { return process_.clock.at(time_ns); }

  recording::Writer& writer_;
  void* base_;
  uint32_t slots_;
  Process process_;
  const ThreadRows& threads_;
  std::vector<Lane> lanes_;
  std::vector<std::string> names_;  // the table's, valid UTF-8
  OpenIntervals intervals_;
  OpenIntervals::Texts texts_;       // of open spans, by id
  OpenIntervals::Texts span_names_;  // of open spans whose names are not interned, by id
  // Id of the span that ended last, by the thread's row. A process may be killed after it has
  // written the end of a span, and before it has removed the span from the open ones.
  std::unordered_map<uint32_t, uint64_t> last_ended_;
  std::vector<uint64_t> ended_;  // spans that ended in the last round
  bool last_round_ = false;
  MonotonicNs noted_ns_ = 0;         // when this round began
  MonotonicNs noted_before_ns_ = 0;  // and the one before
  uint64_t corrupt_ = 0;
  uint64_t no_thread_ = 0;
};

}  // namespace sampan::sampler
