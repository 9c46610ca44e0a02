#include "cli/continuous_options.h"

#include <algorithm>

#include "base/text/quantity.h"
#include "cli/command.h"
#include "cli/values.h"

namespace sampan::cli {
namespace {

constexpr uint64_t kLongestBox = 3600 * kNsPerSecond;
// A black box drops its oldest part in steps of a sixth, and of at least a second.
constexpr uint64_t kBoxSteps = 6;

// A time or a size, of one file or of all. A number alone could be either, so it is neither.
sampler::Limit parse_limit(const std::string& option, const std::string& text) {
  const uint64_t ns = parse_time(text, 0).value_or(0);
  if (ns >= kNsPerSecond) return {ns, 0};
  const uint64_t bytes = parse_size(text).value_or(0);
  if (bytes != 0) return {0, bytes};
  throw UsageError(
      "{} takes a time such as 30s, 10m, 24h or 7d, or a size such as 100M or 2G, not '{}'", option,
      text);
}

sampler::Segments::Options black_box(const std::string& text, const std::string& directory) {
  const uint64_t length_ns = time_value("--black-box", text,
                                        {.least_ns = kNsPerSecond,
                                         .most_ns = kLongestBox,
                                         .allowed = "a time from 1s to 1h, such as 30s or 5m"});
  sampler::Segments::Options options;
  options.directory = directory;
  options.rotate.ns = std::max(length_ns / kBoxSteps, kNsPerSecond);
  options.keep.ns = length_ns + 2 * kNsPerSecond;  // until the box is written, too
  options.black_box_ns = length_ns;
  return options;
}

}  // namespace

void add_continuous_options(CLI::App& command, ContinuousOptions& options) {
  command
      .add_flag("--continuous", options.continuous,
                "Record for days: into one file after the other; the oldest files are removed")
      ->envname("SAMPAN_CONTINUOUS");
  command
      .add_option(
          "--rotate", options.rotate,
          "With --continuous: length or size of one file, such as 10m or 100M (default 10m)")
      ->envname("SAMPAN_ROTATE")
      ->type_name("TIME|SIZE");
  command
      .add_option(
          "--keep", options.keep,
          "With --continuous: length or size of what is kept, such as 24h or 2G (default 24h)")
      ->envname("SAMPAN_KEEP")
      ->type_name("TIME|SIZE");
}

void add_black_box_option(CLI::App& command, ContinuousOptions& options) {
  command
      .add_option(
          "--black-box", options.black_box,
          "Keep only the last part, such as 30s, and write it if a process dies by a signal")
      ->envname("SAMPAN_BLACK_BOX")
      ->type_name("TIME");
}

std::optional<sampler::Segments::Options> segment_options(const ContinuousOptions& options,
                                                          const std::string& directory) {
  if (!options.continuous && !(options.rotate.empty() && options.keep.empty())) {
    throw UsageError(
        "--rotate and --keep need --continuous: they divide a recording into several files");
  }
  if (!options.black_box.empty()) {
    if (options.continuous) {
      throw UsageError(
          "use either --continuous, which keeps files, or --black-box, which keeps none");
    }
    return black_box(options.black_box, directory);
  }
  if (!options.continuous) return std::nullopt;
  sampler::Segments::Options segments;
  segments.directory = directory;
  segments.rotate = parse_limit("--rotate", options.rotate.empty() ? kUsualRotate : options.rotate);
  segments.keep = parse_limit("--keep", options.keep.empty() ? kUsualKeep : options.keep);
  return segments;
}

}  // namespace sampan::cli
