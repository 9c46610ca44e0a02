#include "symbolizer/function_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

namespace sampan::symbolizer {
namespace {

namespace fs = std::filesystem;

bool can_be_read(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && std::ifstream(path).good();
}

// Links followed: a name in the directory may lead out of it.
bool is_below(const fs::path& path, const std::string& directory) {
  if (directory.empty()) return true;
  std::error_code failed;
  const fs::path real = fs::canonical(path, failed), base = fs::canonical(directory, failed);
  return !failed &&
         std::mismatch(base.begin(), base.end(), real.begin(), real.end()).first == base.end();
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

std::vector<std::string> lines_of_file(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

std::optional<std::string> find_source(const std::string& path,
                                       const std::vector<SourceMapping>& mappings,
                                       const std::string& below) {
  if (path.empty()) return std::nullopt;
  const auto may_be_shown = [&](const std::string& found) {
    return can_be_read(found) && is_below(found, below);
  };
  for (const SourceMapping& mapping : mappings) {
    std::optional<std::string> candidate = mapped(path, mapping);
    if (candidate && may_be_shown(*candidate)) return candidate;
  }
  if (may_be_shown(path)) return path;
  return std::nullopt;
}

std::vector<profile::Source> find_sources(const profile::Profile& profile,
                                          const profile::Annotation& annotation,
                                          const std::vector<SourceMapping>& mappings,
                                          std::vector<std::string>* notes,
                                          const std::string& below) {
  std::vector<profile::Source> sources;
  const auto add = [&](uint32_t file) {
    if (std::ranges::find(sources, file, &profile::Source::file) != sources.end()) return;
    profile::Source& source = sources.emplace_back();
    source.file = file;
    const std::string& path = profile.strings[file];
    if (const auto found = find_source(path, mappings, below)) {
      source.path = *found;
      source.lines = lines_of_file(*found);
    } else if (!path.empty()) {
      notes->push_back(fmt::format(
          "the source {} is not there: --source-path FROM=TO says where sources are", path));
    }
  };
  const uint32_t own = annotation.function.file;
  if (std::ranges::find(annotation.lines, own, &profile::FlatRow::file) != annotation.lines.end()) {
    add(own);
  }
  for (const profile::FlatRow& row : annotation.lines) add(row.file);
  if (std::ranges::all_of(annotation.lines, [](const auto& row) { return row.line == 0; })) {
    notes->push_back(
        "its lines are not known: compile with -g, or install the debug package; --asm shows its "
        "instructions");
  }
  return sources;
}

}  // namespace sampan::symbolizer
