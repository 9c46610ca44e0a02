#include "cli/recorded_profile.h"

#include <fmt/core.h>

#include <cstdio>

#include "profile/recorded_names.h"
#include "recording/names.h"
#include "recording/segment_files.h"
#include "symbolizer/jit_names.h"
#include "symbolizer/name_cache.h"

namespace sampan::cli {

recording::Recording read_recording(const std::string& path) {
  recording::Recording recording = recording::read_whole(path);
  for (const std::string& damage : recording.damage) {
    fmt::print(stderr, "sampan: {}: {}\n", path, damage);
  }
  return recording;
}

std::vector<std::string> find_names(profile::Profile& profile, Progress& progress,
                                    const std::vector<symbolizer::Substitute>& substitutes) {
  symbolizer::Options options;
  options.substitutes = substitutes;
  options.debug_server = symbolizer::DebugServer::of_environment();
  options.jit_directories = symbolizer::default_jit_directories();
  options.cache_directory = symbolizer::default_cache_directory();
  options.progress = [&progress](size_t done, size_t all) {
    progress.show("Finding function names", done, all);
  };
  return symbolizer::symbolize(profile, options).problems;
}

void record_names(const std::string& path, const profile::Profile& profile) {
  recording::append_names(path, profile::names_to_record(profile));
}

void print_without_symbols(const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) {
    fmt::print(stderr, "sampan: no symbols: {}\n", problem);
  }
}

}  // namespace sampan::cli
