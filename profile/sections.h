// The sections of a profile: the requests and phases that the program named, over all threads of a
// process or one of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/view.h"
#include "profile/weights.h"

namespace sampan::profile {

// All that is of one name.
struct NamedSection {
  uint32_t name = 0;                // into Markers::texts
  std::vector<uint32_t> rows = {};  // of the table of sections, by time: its occurrences
  uint64_t wall_ns = 0;             // of its occurrences together
  uint64_t longest_ns = 0;
  uint64_t unclosed = 0;  // of its occurrences: ended by the end of a thread or process
};

// In the order of their first beginnings.
std::vector<NamedSection> named_sections(const Profile& profile);
// Throws Error, with the nearest name that there is, when no section has the name.
NamedSection named_section(const Profile& profile, const std::string& name);

// Of many, those to be shown: the `most` of the longest occurrence, the longest first.
std::vector<NamedSection> longest_sections(std::vector<NamedSection> sections, size_t most);

// What threads of the view did while they were in the section; of threads, those that lived then.
View only_section(const View& view, const NamedSection& section);

// What the samples of only_section() weigh, on CPU and waiting.
struct SectionWeight {
  Weight cpu, waiting;
};
SectionWeight section_weight(const View& view, const NamedSection& section);

}  // namespace sampan::profile
