#include "cli/recorded_profile.h"

#include <fmt/core.h>

#include <cstdio>

namespace sampan::cli {

recording::Recording read_recording(const std::string& path) {
  recording::Recording recording = recording::read(path);
  for (const std::string& damage : recording.damage) {
    fmt::print(stderr, "sampan: {}: {}\n", path, damage);
  }
  return recording;
}

std::vector<std::string> find_names(profile::Profile& profile, Progress& progress,
                                    const std::vector<symbolizer::Substitute>& substitutes) {
  symbolizer::Options options;
  options.substitutes = substitutes;
  options.progress = [&progress](size_t done, size_t all) {
    progress.show("Finding function names", done, all);
  };
  return symbolizer::symbolize(profile, options).problems;
}

void print_without_symbols(const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) {
    fmt::print(stderr, "sampan: no symbols: {}\n", problem);
  }
}

}  // namespace sampan::cli
