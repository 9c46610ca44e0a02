#include "cli/page_sources.h"

#include <algorithm>
#include <set>
#include <utility>

#include "cli/command.h"
#include "exporters/page_data.h"
#include "profile/annotate.h"
#include "profile/flat.h"
#include "profile/frames.h"
#include "profile/function_kinds.h"

namespace sampan::cli {
namespace {

constexpr size_t kMostFunctions = 50;
constexpr double kLeastShare = 0.001;  // self time, of all code

// FROM=TO.
symbolizer::SourceMapping source_mapping(const std::string& word) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos) {
    throw UsageError("--source-path takes FROM=TO, not '{}'", word);
  }
  return {word.substr(0, equals), word.substr(equals + 1)};
}

}  // namespace

void add_source_path_option(CLI::App& command, std::vector<std::string>& words) {
  command
      .add_option("--source-path", words,
                  "Sources that were in FROM during the build are now in TO (repeatable)")
      ->type_name("FROM=TO")
      ->allow_extra_args(false);
}

std::vector<symbolizer::SourceMapping> source_mappings(const std::vector<std::string>& words,
                                                       const std::string& sysroot) {
  std::vector<symbolizer::SourceMapping> mappings;
  for (const std::string& word : words) mappings.push_back(source_mapping(word));
  if (!sysroot.empty()) mappings.push_back({"/", sysroot});
  return mappings;
}

EmbeddedSources hot_sources(const profile::View& view,
                            const std::vector<symbolizer::SourceMapping>& mappings,
                            const std::string& sysroot) {
  EmbeddedSources embedded;
  std::vector<exporters::PageSource> functions;
  std::set<std::string> notes;
  // Waits are no code.
  std::vector<profile::FlatRow> rows = profile::flat_table(view);
  const std::vector<profile::FunctionKind> kinds = profile::function_kinds(*view.profile);
  std::erase_if(rows, [&](const profile::FlatRow& row) {
    return row.function == profile::kNone || kinds[row.function] == profile::FunctionKind::kWait;
  });
  double all_ns = 0;
  for (const profile::FlatRow& row : rows) all_ns += static_cast<double>(row.self.ns);
  for (const profile::FlatRow& row : rows) {
    const bool is_hot = static_cast<double>(row.self.ns) >= kLeastShare * all_ns;
    if (!is_hot || functions.size() == kMostFunctions) break;
    exporters::PageSource function;
    function.annotation =
        profile::annotate(view, std::string(profile::function_name(*view.profile, row.function)));
    // If several functions have this name, the page has the one with the most self time.
    if (function.annotation.function.function != row.function) continue;
    std::vector<std::string> own_notes;
    function.sources =
        symbolizer::find_sources(*view.profile, function.annotation, mappings, &own_notes);
    if (!function.annotation.is_python) {
      std::vector<std::string> of_code;  // waits and unknown code have none
      function.code =
          symbolizer::find_instructions(*view.profile, function.annotation, &of_code, sysroot);
    }
    const bool has_lines =
        std::any_of(function.sources.begin(), function.sources.end(),
                    [](const profile::Source& source) { return !source.lines.empty(); });
    if (!has_lines && function.code.empty()) continue;
    notes.insert(own_notes.begin(), own_notes.end());
    functions.push_back(std::move(function));
  }
  embedded.functions = functions.size();
  embedded.notes.assign(notes.begin(), notes.end());
  if (!functions.empty()) embedded.text = exporters::page_sources(view, functions);
  return embedded;
}

}  // namespace sampan::cli
