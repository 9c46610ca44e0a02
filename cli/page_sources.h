// The sources and instructions that a page embeds (--with-source), and the option that says where
// sources are.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "profile/view.h"
#include "symbolizer/function_code.h"

namespace sampan::cli {

// --source-path FROM=TO.
void add_source_path_option(CLI::App& command, std::vector<std::string>& words);
// Sources are looked for below the sysroot, if there is one, before they are at their path. Throws
// UsageError.
std::vector<symbolizer::SourceMapping> source_mappings(const std::vector<std::string>& words,
                                                       const std::string& sysroot);

struct EmbeddedSources {
  std::string text;                // of exporters::page_sources()
  size_t functions = 0;            // that have lines or instructions in it
  std::vector<std::string> notes;  // what was not found
};

// Takes the functions with the most self time in the view. The profile must have its names.
EmbeddedSources hot_sources(const profile::View& view,
                            const std::vector<symbolizer::SourceMapping>& mappings,
                            const std::string& sysroot);

}  // namespace sampan::cli
