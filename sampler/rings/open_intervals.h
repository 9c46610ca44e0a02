// Intervals that begin in one thread and may end in another: spans by id, sections, pauses.
//
// Their records come through different lanes, which are read one after the other. So records wait
// for a round and are then applied in the order of their times: an end finds its begin.
//
// Errors: throws Error when the recording cannot be written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"
#include "recording/writer.h"

namespace sampan::sampler {

class OpenIntervals {
 public:
  struct Switches {
    bool paused;         // at the start
    bool sections_only;  // sampling is on in sections only
  };
  // Times, here and below, are session times.
  OpenIntervals(recording::Writer& writer, uint32_t process, Switches switches, SessionNs start_ns);

  enum class Kind : uint8_t {
    kSpanBegin,
    kSpanEnd,
    kSectionStart,
    kSectionStop,
    kPause,
    kResume,
    kThreadEnd,
  };
  struct Change {
    Kind kind;
    SessionNs time_ns;
    uint32_t thread;  // a row; kNone: of the process, or a section of all threads
    uint64_t id = 0;
    uint64_t parent_id = 0;
    std::string name = {};
    std::string text = {};
  };
  void add(Change change) { changes_.push_back(std::move(change)); }

  // Applies the changes before `time_ns`. `texts`: values of spans, by id; those of spans that end
  // are removed.
  using Texts = std::unordered_map<uint64_t, std::string>;
  void apply(SessionNs time_ns, Texts& texts);
  // The segment of the recording ends: writes the part of open sections and pauses that is in it.
  void end_segment(SessionNs time_ns);
  // Applies all changes, then closes what is open.
  void finish(SessionNs time_ns, Texts& texts);

  // Whether a section is open, or sampling does not depend on it; as of the last round.
  bool sections_allow_sampling() const { return !sections_only_ || open_sections_ > 0; }
  uint64_t unmatched() const {
    return unmatched_;
  }  // ends without a begin; begins beyond kMostOpen

  // A program may begin spans or sections for ever and end none.
  static constexpr size_t kMostOpen = size_t{1} << 18;  // of each kind

 private:
  using SectionKey = std::pair<uint32_t, std::string>;  // thread, name

  void apply(Change& change, Texts& texts);
  void end_across(const Change& change, Texts& texts);
  void write_across(const Change& begin, SessionNs end_ns, uint32_t end_thread,
                    recording::Closed closed, Texts& texts);
  void stop_section(const SectionKey& key, SessionNs time_ns);
  void close_sections_of(uint32_t thread, SessionNs time_ns);
  void write_section(const SectionKey& key, SessionNs begin_ns, SessionNs end_ns,
                     recording::Closed closed);
  bool sampling() const { return !paused_ && sections_allow_sampling(); }
  void follow_sampling(SessionNs time_ns);

  recording::Writer& writer_;
  uint32_t process_;
  std::vector<Change> changes_;
  std::unordered_map<uint64_t, Change> across_;           // open, by id
  std::map<SectionKey, std::deque<SessionNs>> sections_;  // open, by when they began
  size_t open_sections_ = 0;
  bool paused_;
  bool sections_only_;
  bool was_sampling_;
  SessionNs off_since_ns_;
  uint64_t unmatched_ = 0;
};

}  // namespace sampan::sampler
