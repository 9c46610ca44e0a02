// What begins in one thread and may end in another: spans by id, sections, pauses.
//
// Their records come through different lanes, which are read one after the other. So they wait for
// a round and are then taken in the order of their times: an end finds its begin.
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

#include "recording/writer.h"

namespace sampan::sampler {

class OpenIntervals {
 public:
  struct Switches {
    bool paused;         // from the beginning on
    bool sections_only;  // sampling is on in sections only
  };
  // Times, here and below, are the recording's.
  OpenIntervals(recording::Writer& writer, uint32_t process, Switches switches, uint64_t start_ns);

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
    uint64_t time_ns;
    uint32_t thread;  // a row; kNone: of the process, or a section of all threads
    uint64_t id = 0;
    uint64_t parent_id = 0;
    std::string name = {};
    std::string text = {};
  };
  void add(Change change) { changes_.push_back(std::move(change)); }

  // Takes the changes before `time_ns`. `texts`: values of spans, by id; those of spans that end
  // are taken out.
  using Texts = std::unordered_map<uint64_t, std::string>;
  void apply(uint64_t time_ns, Texts& texts);
  // The segment of the recording ends: of sections and pauses that are open, what it has of them.
  void end_segment(uint64_t time_ns);
  // Takes all, and closes what is open then.
  void finish(uint64_t time_ns, Texts& texts);

  // Whether a section is open, or sampling does not depend on it; as of the last round.
  bool sections_allow_sampling() const { return !sections_only_ || open_sections_ > 0; }
  uint64_t unmatched() const { return unmatched_; }  // ends without a begin

 private:
  using SectionKey = std::pair<uint32_t, std::string>;  // thread, name

  void apply(Change& change, Texts& texts);
  void end_across(const Change& change, Texts& texts);
  void write_across(const Change& begin, uint64_t end_ns, uint32_t end_thread,
                    recording::Closed closed, Texts& texts);
  void stop_section(const SectionKey& key, uint64_t time_ns);
  void close_sections_of(uint32_t thread, uint64_t time_ns);
  void write_section(const SectionKey& key, uint64_t begin_ns, uint64_t end_ns,
                     recording::Closed closed);
  bool sampling() const { return !paused_ && sections_allow_sampling(); }
  void follow_sampling(uint64_t time_ns);

  recording::Writer& writer_;
  uint32_t process_;
  std::vector<Change> changes_;
  std::unordered_map<uint64_t, Change> across_;          // open, by id
  std::map<SectionKey, std::deque<uint64_t>> sections_;  // open, by when they began
  size_t open_sections_ = 0;
  bool paused_;
  bool sections_only_;
  bool was_sampling_;
  uint64_t off_since_ns_;
  uint64_t unmatched_ = 0;
};

}  // namespace sampan::sampler
