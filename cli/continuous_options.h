// --continuous and --black-box: recordings of several files (sampler/recorder/segments.h).
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "sampler/recorder/segments.h"

namespace sampan::cli {

inline constexpr const char* kUsualRotate = "10m";
inline constexpr const char* kUsualKeep = "24h";

struct ContinuousOptions {
  bool continuous = false;
  std::string rotate;
  std::string keep;
  std::string black_box;

  bool wanted() const { return continuous || !black_box.empty(); }
};

// --continuous, --rotate, --keep.
void add_continuous_options(CLI::App& command, ContinuousOptions& options);
void add_black_box_option(CLI::App& command, ContinuousOptions& options);

// The segments of a run in `directory`; nothing: the recording is one file. Throws UsageError.
std::optional<sampler::Segments::Options> segment_options(const ContinuousOptions& options,
                                                          const std::string& directory);

}  // namespace sampan::cli
