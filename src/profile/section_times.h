// When threads were inside a section. Intervals have both of their ends, in nanoseconds since the
// session's start.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace sampan::profile {

class SectionTimes {
 public:
  // Of rows of the table of sections. Where one is of one thread, so is its time; else it is of all
  // threads of its process.
  SectionTimes(const Profile& profile, const std::vector<uint32_t>& rows);

  const std::string& name() const { return name_; }

  // All of it lies between these; begins after its end where there is none.
  uint64_t begin_ns() const { return begin_ns_; }
  uint64_t end_ns() const { return end_ns_; }

  // Whether the thread was inside at some moment between these.
  bool meet(uint32_t thread, uint64_t begin_ns, uint64_t end_ns) const;
  // The same of a process: one of its threads was.
  bool meet_process(uint32_t process, uint64_t begin_ns, uint64_t end_ns) const;

 private:
  // Sorted and apart: those that meet become one.
  class Intervals {
   public:
    void add(uint64_t begin_ns, uint64_t end_ns);
    bool meet(uint64_t begin_ns, uint64_t end_ns) const;

   private:
    std::map<uint64_t, uint64_t> ends_;  // by begin
  };

  const Profile& profile_;
  std::string name_;  // of the first of them, as of all
  std::map<uint32_t, Intervals> of_process_, of_thread_;
  uint64_t begin_ns_ = UINT64_MAX, end_ns_ = 0;
};

}  // namespace sampan::profile
