// The options of `run`, and those of them that attach, serve and top share. Each option has an
// environment variable, from which `collect` takes it when a program is profiled without the
// launcher.
#pragma once

#include <sys/types.h>

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/continuous_options.h"
#include "cli/latest_recording.h"
#include "cli/push_options.h"
#include "exporters/exporter.h"
#include "sampler/recorder/rate_control.h"
#include "sampler/recorder/source.h"

namespace sampan::cli {

struct SamplingOptions {
  unsigned rate_hz = 250;
  std::string clock = "cpu";      // or "wall"
  std::string max_overhead = {};  // "1%", "none"; "": samples take 10 % of the program at most
};

// --rate, --clock, --max-overhead. The values in `options` are the defaults.
void add_sampling_options(CLI::App& command, SamplingOptions& options);

// --engine: "auto", or the name of an engine that samples from outside.
void add_engine_option(CLI::App& command, std::string& engine, const std::string& description);

// --mode: permissions, in octal.
void add_mode_option(CLI::App& command, std::string& mode);

// The rate, and what it may cost. Changes that matter are said on stderr unless `quiet`. Throws
// UsageError.
sampler::RateOptions rate_options(const SamplingOptions& options, bool quiet);

inline constexpr const char* kUsualMode = "600";

struct RunOptions {
  SamplingOptions sampling;
  std::string output = kUsualOutput;
  std::vector<std::string> formats;  // empty: not asked for any, see chosen_formats()
  bool follow = true;
  bool quiet = false;
  bool symbolize = true;
  std::string sysroot;  // see add_sysroot_option()
  std::string name;
  std::string mode = kUsualMode;
  bool start_paused = false;
  bool sections_only = false;
  bool python = true;
  sampler::SamplingClock sampling_clock = sampler::SamplingClock::kAuto;
  sampler::WatchOptions watched;
  size_t max_sections = exporters::kUsualSections;
  ContinuousOptions continuous;
  PushOptions push;
  bool strict = false;        // run the program only if it can be recorded
  bool instructions = false;  // count them
  int owner = -1;  // a pidfd: with that process the recording ends, and the command lives on
  // The command's, "NAME=value"; absent: ours.
  std::optional<std::vector<std::string>> environment;
};

// Declares the options on `command`, which fills `options` when it is parsed. `options` must
// outlive `command`.
void add_run_options(CLI::App& command, RunOptions& options);
// --sampling-clock, for programs that get the shim.
void add_sampling_clock_option(CLI::App& command, sampler::SamplingClock& clock);
// --heap, --locks, for the same.
void add_watch_options(CLI::App& command, sampler::WatchOptions& watched);

// The formats that were asked for, or the usual ones; "none" asks for none. Throws UsageError with
// the nearest name for one that does not exist.
std::vector<const exporters::Format*> chosen_formats(const RunOptions& options);

// --mode: the permissions of the recording. Throws UsageError.
mode_t file_mode(const std::string& mode);

// --start-paused or SAMPAN_START=paused. Throws UsageError for another value.
bool starts_paused(const RunOptions& options);

}  // namespace sampan::cli
