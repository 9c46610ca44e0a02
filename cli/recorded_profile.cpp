#include "cli/recorded_profile.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

#include "base/clock.h"
#include "base/say.h"
#include "profile/load.h"
#include "profile/shown.h"
#include "recording/merge.h"
#include "recording/names.h"
#include "recording/segments.h"

namespace sampan::cli {
namespace {

constexpr uint64_t kDelay = 1'000'000'000;
constexpr uint64_t kInterval = 100'000'000;
constexpr const char* kClearLine = "\r\x1b[K";

}  // namespace

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1), next_ns_(monotonic_ns() + kDelay) {}

Progress::~Progress() {
  if (shown_) say("{}", kClearLine);
}

void Progress::show(const std::string& what, size_t done, size_t all) {
  if (is_due()) print(fmt::format("{}: {} of {}", what, done, all));
}

void Progress::show(const std::string& what) {
  if (is_due()) print(what);
}

bool Progress::is_due() {
  return terminal_ && monotonic_ns() >= next_ns_;
}

void Progress::print(const std::string& line) {
  say("{}{}", kClearLine, line);
  shown_ = true;
  next_ns_ = monotonic_ns() + kInterval;
}

recording::Recording read_recording(const std::string& path) {
  recording::Recording recording = recording::read_whole(path);
  for (const std::string& damage : recording.damage) {
    say("sampan: {}: {}\n", path, damage);
  }
  return recording;
}

profile::Profile load_profile(const RecordingOptions& options) {
  profile::Profile profile = profile::load(read_recording(options.path()), options.python);
  show(options.what.shown, &profile);
  return profile;
}

profile::Profile load_together(const std::vector<LabelledPath>& paths,
                               profile::PythonFrames python) {
  if (paths.size() == 1) return profile::load(read_recording(paths.front().path), python);
  std::vector<recording::MergeInput> inputs;
  for (const LabelledPath& each : paths) {
    inputs.push_back({each.label, read_recording(each.path)});
  }
  return profile::load(recording::merge(std::move(inputs), std::nullopt), python);
}

std::vector<std::string> find_names(profile::Profile& profile, const std::string& sysroot,
                                    Progress& progress,
                                    const std::vector<symbolizer::Substitute>& substitutes) {
  symbolizer::Options options = symbolizer::environment_options();
  options.substitutes = substitutes;
  options.sysroot = sysroot;
  options.progress = [&progress](size_t done, size_t all) {
    progress.show("Finding function names", done, all);
  };
  return symbolizer::symbolize(profile, options).problems;
}

std::vector<std::string> find_names(profile::Profile& profile, const std::string& sysroot) {
  Progress progress;
  return find_names(profile, sysroot, progress);
}

void record_names(const std::string& path, const profile::Profile& profile) {
  recording::append_names(path, profile::names_to_record(profile));
}

void print_without_symbols(const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) {
    say("sampan: no symbols: {}\n", problem);
  }
}

}  // namespace sampan::cli
