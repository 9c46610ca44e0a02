// The sources and the instructions of an annotated function. Sources are found where the program
// was built, or where the caller says they are.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "profile/annotate.h"

namespace sampan::symbolizer {

// What was below `from` when the program was built is now below `to`.
struct SourceMapping {
  std::string from, to;
};

// The first file that can be opened: mapped, by the mappings in their order, else the path itself.
// Only below the directory `below`, if it is not empty: a recording may name any file.
std::optional<std::string> find_source(const std::string& path,
                                       const std::vector<SourceMapping>& mappings,
                                       const std::string& below = "");

// One for each file that the function has lines in, its own first. Adds a sentence to `notes` for
// each file that is not found, and where no lines are known.
std::vector<profile::Source> find_sources(const profile::Profile& profile,
                                          const profile::Annotation& annotation,
                                          const std::vector<SourceMapping>& mappings,
                                          std::vector<std::string>* notes,
                                          const std::string& below = "");

// The instructions of the functions that contain the annotated addresses, each once, by module and
// address, with the time spent on them. Adds a sentence to `notes` for what has no instructions. `sysroot`: see Options.
std::vector<profile::CodeRow> find_instructions(const profile::Profile& profile,
                                                const profile::Annotation& annotation,
                                                std::vector<std::string>* notes,
                                                const std::string& sysroot = "");

}  // namespace sampan::symbolizer
