#include "cli/source_files.h"

#include <filesystem>
#include <fstream>

#include "cli/command.h"

namespace sampan::cli {
namespace {

namespace fs = std::filesystem;

bool can_be_read(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && std::ifstream(path).good();
}

std::optional<std::string> mapped(const std::string& path, const SourceMapping& mapping) {
  // "/build" is above "/build/a.c", and not above "/builds/a.c".
  if (!path.starts_with(mapping.from)) return std::nullopt;
  const std::string rest = path.substr(mapping.from.size());
  const bool whole_name =
      mapping.from.empty() || mapping.from.back() == '/' || rest.empty() || rest.front() == '/';
  if (!whole_name) return std::nullopt;
  return fs::path(mapping.to) / fs::path(rest).relative_path();
}

}  // namespace

SourceMapping parse_source_mapping(const std::string& word) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos) {
    throw UsageError("--source-path takes FROM=TO, not '{}'", word);
  }
  return {word.substr(0, equals), word.substr(equals + 1)};
}

std::optional<std::string> find_source(const std::string& path,
                                       const std::vector<SourceMapping>& mappings) {
  if (path.empty()) return std::nullopt;
  for (const SourceMapping& mapping : mappings) {
    const std::optional<std::string> candidate = mapped(path, mapping);
    if (candidate && can_be_read(*candidate)) return candidate;
  }
  if (can_be_read(path)) return path;
  return std::nullopt;
}

std::vector<std::string> lines_of_file(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace sampan::cli
