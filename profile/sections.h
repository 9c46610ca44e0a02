// The sections of a profile: the requests and phases that the program named, over all threads of a
// process or one of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "profile/profile.h"
#include "profile/view.h"
#include "profile/weights.h"

namespace sampan::profile {

// When threads were inside a section. Intervals include both ends, in nanoseconds since the
// session's start.
class SectionTimes {
 public:
  // `rows` of the table of sections. A section of one thread counts for that thread, others for all
  // threads of their process and of those that were forked while it was open: a master's workers.
  SectionTimes(const Profile& profile, const std::vector<uint32_t>& rows);

  const std::string& name() const { return name_; }

  // The earliest begin and the latest end; without intervals the begin is after the end.
  SessionNs begin_ns() const { return begin_ns_; }
  SessionNs end_ns() const { return end_ns_; }

  // Whether the thread was inside at some time in between.
  bool meet(uint32_t thread, SessionNs begin_ns, SessionNs end_ns) const;
  // The same for any thread of a process.
  bool meet_process(uint32_t process, SessionNs begin_ns, SessionNs end_ns) const;

 private:
  // Sorted and disjoint: adjacent ones are joined.
  class Intervals {
   public:
    void add(SessionNs begin_ns, SessionNs end_ns);
    bool meet(SessionNs begin_ns, SessionNs end_ns) const;

   private:
    std::map<SessionNs, SessionNs> ends_;  // by begin
  };

  void add_with_forked(const Section& section);

  const Profile& profile_;
  std::string name_;  // of the first of them, as of all
  std::map<uint32_t, Intervals> of_process_, of_thread_;
  SessionNs begin_ns_ = UINT64_MAX, end_ns_ = 0;
};

// All occurrences with one name.
struct NamedSection {
  uint32_t name = 0;                // into Markers::texts
  std::vector<uint32_t> rows = {};  // of the table of sections, by time: its occurrences
  uint64_t wall_ns = 0;             // of all occurrences
  uint64_t longest_ns = 0;
  uint64_t unclosed = 0;  // occurrences that the end of a thread or process ended
};

// In the order of their first begin.
std::vector<NamedSection> named_sections(const Profile& profile);
// Throws Error with the nearest name when no section has this name.
NamedSection named_section(const Profile& profile, const std::string& name);

// The `most` sections with the longest occurrences, the longest first.
std::vector<NamedSection> longest_sections(std::vector<NamedSection> sections, size_t most);

// The part of the view in the section: its samples, and the threads that lived then.
View only_section(const View& view, const NamedSection& section);

// The weight of the samples of only_section(), on CPU and waiting.
struct SectionWeight {
  Weight cpu, waiting;
};
SectionWeight section_weight(const View& view, const NamedSection& section);

}  // namespace sampan::profile
