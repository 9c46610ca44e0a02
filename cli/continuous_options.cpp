#include "cli/continuous_options.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/units.h"
#include "cli/command.h"

namespace sampan::cli {
namespace {

constexpr uint64_t kLongestBox = 3600 * kNsPerSecond;
constexpr uint64_t kLargest = uint64_t{1} << 60;
// A black box drops its oldest part in steps of a sixth, and of at least a second.
constexpr uint64_t kBoxSteps = 6;

struct Unit {
  char letter;
  uint64_t ns, bytes;
};
constexpr Unit kUnits[] = {{'s', kNsPerSecond, 0},        {'m', 60 * kNsPerSecond, 0},
                           {'h', 3600 * kNsPerSecond, 0}, {'d', 86400 * kNsPerSecond, 0},
                           {'K', 0, uint64_t{1} << 10},   {'M', 0, uint64_t{1} << 20},
                           {'G', 0, uint64_t{1} << 30},   {'T', 0, uint64_t{1} << 40}};

sampler::Segments::Options black_box(const std::string& text, const std::string& directory) {
  const sampler::Limit length = parse_limit("--black-box", text);
  if (length.ns == 0 || length.ns > kLongestBox) {
    throw UsageError("--black-box {}: must be a duration up to an hour, such as 30s", text);
  }
  sampler::Segments::Options options;
  options.directory = directory;
  options.rotate.ns = std::max(length.ns / kBoxSteps, kNsPerSecond);
  options.keep.ns = length.ns + 2 * kNsPerSecond;  // until the box is written, too
  options.black_box_ns = length.ns;
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

sampler::Limit parse_limit(const std::string& option, const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  const auto unit = std::ranges::find_if(
      kUnits, [&](const Unit& u) { return read.ptr != end && u.letter == *read.ptr; });
  if (read.ec == std::errc() && read.ptr + 1 == end && unit != std::end(kUnits)) {
    const double amount = number * static_cast<double>(std::max(unit->ns, unit->bytes));
    const double least = unit->ns != 0 ? static_cast<double>(kNsPerSecond) : 1;
    if (amount >= least && amount <= static_cast<double>(kLargest)) {
      const auto whole = static_cast<uint64_t>(amount);
      return unit->ns != 0 ? sampler::Limit{whole, 0} : sampler::Limit{0, whole};
    }
  }
  throw UsageError(
      "{} {}: must be a duration, such as 30s, 10m, 24h or 7d, or a size, such as 100M or 2G",
      option, text);
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
