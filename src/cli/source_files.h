// Finds the sources of a program: where it was built, or where --source-path says.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sampan::cli {

// FROM=TO: what was below FROM when the program was built is now below TO.
struct SourceMapping {
  std::string from, to;
};
// Throws UsageError for a word without "=".
SourceMapping parse_source_mapping(const std::string& word);

// The first that can be opened: mapped, by the mappings in their order, else the path itself.
std::optional<std::string> find_source(const std::string& path,
                                       const std::vector<SourceMapping>& mappings);
std::vector<std::string> lines_of_file(const std::string& path);

}  // namespace sampan::cli
