#include "cli/run_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "cli/results.h"
#include "cli/substitutes.h"
#include "recording/segment_files.h"

namespace sampan::cli {
namespace {

namespace fs = std::filesystem;

// For what has not arrived at the end. It stays in the spool, so that nobody need wait for long.
constexpr std::chrono::seconds kFarewell{10};

uint64_t size_of(const std::vector<std::string>& files) {
  uint64_t bytes = 0;
  for (const std::string& file : files) {
    std::error_code gone;
    const uintmax_t size = fs::file_size(file, gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

}  // namespace

RunFiles::RunFiles(const RunOptions& options, const std::string& program, pid_t process)
    : options_(options), formats_(chosen_formats(options)), directory_(options.output, program) {
  try {
    if (options.push.wanted()) pusher_.emplace(push_options(options.push, process));
  } catch (...) {
    directory_.remove();
    throw;
  }
  auto segments = segment_options(options.continuous, directory_.path());
  if (!segments) return;
  if (pusher_ && segments->black_box_ns == 0) {
    segments->completed = [this](const std::string& path) { push_file(path); };
  }
  segments_.emplace(std::move(*segments));
}

std::string RunFiles::recording() const {
  return segments_ ? segments_->first() : directory_.recording();
}

void RunFiles::conclude(const std::vector<attach::HiddenFile>& hidden) {
  hidden_now_ = nullptr;
  keep_open(hidden);
  write_files(substitutes(hidden_));
  if (pusher_) push_rest();
}

// Each file once, and for good: names may be looked up in it at any time.
void RunFiles::keep_open(const std::vector<attach::HiddenFile>& files) {
  for (const attach::HiddenFile& file : files) {
    const auto is_same = [&file](const attach::HiddenFile& other) {
      return other.path == file.path && other.build_id == file.build_id;
    };
    if (std::ranges::none_of(hidden_, is_same)) hidden_.push_back(file);
  }
}

void RunFiles::push_file(const std::string& path) {
  if (hidden_now_) keep_open(hidden_now_());
  pusher_->add(path, substitutes(hidden_));
}

void RunFiles::push_rest() {
  if (!segments_) push_file(directory_.recording());
  if (segments_) {
    for (const std::string& box : segments_->boxes()) push_file(box);
  }
  say_pushed(pusher_->finish(kFarewell), options_.push, pusher_->directory(), options_.quiet);
}

void RunFiles::write_files(const std::vector<symbolizer::Substitute>& substitutes) {
  if (segments_) {
    for (const std::string& problem : segments_->problems()) {
      fmt::print(stderr, "sampan: {}\n", problem);
    }
    if (segments_->has_black_box()) conclude_black_box();
    if (segments_->has_black_box() && !fs::exists(directory_.recording())) return;
    if (!segments_->has_black_box()) {
      if (!options_.quiet) say_segments();
      // A day takes long, and nobody has asked.
      if (options_.formats.empty() || formats_.empty()) return;
    }
  }
  write_results(directory_.path(), {formats_, !options_.quiet, substitutes, options_.max_sections,
                                    options_.symbolize});
}

void RunFiles::conclude_black_box() {
  std::error_code ignored;
  fs::remove(directory_.path(), ignored);  // if nothing is in it
  if (options_.quiet) return;
  for (const std::string& box : segments_->boxes()) {
    fmt::print(stderr, "sampan: the black box: the last {} are in {}\n",
               options_.continuous.black_box, box);
  }
  if (segments_->boxes().empty()) {
    fmt::print(stderr, "sampan: the black box: no process died by a signal, nothing was written\n");
  }
}

void RunFiles::say_segments() const {
  const std::vector<std::string> files = recording::segment_files(segments_->directory());
  fmt::print(stderr,
             "sampan: {} segments, {:.1f} MB, are in {}\n"
             "        sampan report {}\n"
             "        sampan export --format html {}\n",
             files.size(), static_cast<double>(size_of(files)) / 1e6, segments_->directory(),
             directory_.path(), directory_.path());
}

}  // namespace sampan::cli
