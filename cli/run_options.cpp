#include "cli/run_options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>

#include "base/nearest.h"
#include "base/say.h"
#include "cli/command.h"
#include "cli/recording_options.h"
#include "cli/values.h"
#include "sampler/record.h"

namespace sampan::cli {
namespace {

std::optional<sampler::CostLimit> parse_cost_limit(const std::string& text) {
  if (text.empty()) return sampler::kCostCeiling;
  if (text == "none") return std::nullopt;
  double percent = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, percent, std::chars_format::fixed);
  if (error != std::errc() || rest + 1 != end || *rest != '%' || !(percent > 0 && percent <= 100)) {
    throw UsageError(
        "--max-overhead {}: must be a share of the program's CPU, such as 1% or 0.5%, or none",
        text);
  }
  return sampler::CostLimit{percent / 100};
}

const std::vector<std::string> kUsualFormats = {"html", "trace", "pprof"};

std::vector<std::string> format_names() {
  std::vector<std::string> names = {"none"};
  for (const exporters::Format& format : exporters::formats()) names.emplace_back(format.name);
  return names;
}

}  // namespace

void add_sampling_options(CLI::App& command, SamplingOptions& options) {
  command
      .add_option_function<std::string>(
          "-F,--rate",
          [&options](const std::string& text) { options.rate_hz = rate_value("--rate", text); },
          "Samples per second of CPU of each thread, such as 99 or 1k")
      ->envname("SAMPAN_RATE")
      ->type_name("HZ")
      ->default_str(std::to_string(options.rate_hz));
  command
      .add_option("--clock", options.clock,
                  "cpu: sample threads while they are on CPU; wall: also while they wait")
      ->envname("SAMPAN_CLOCK")
      ->type_name("cpu|wall")
      ->capture_default_str()
      ->check(CLI::IsMember({"cpu", "wall"}).description(""));
  command
      .add_option(
          "--max-overhead", options.max_overhead,
          "Lower the rate if sampling costs more than this share of the program's CPU, such "
          "as 1%; none: never lower it. Without this option it is lowered if samples take more "
          "than "
          "10% inside the program")
      ->envname("SAMPAN_MAX_OVERHEAD")
      ->type_name("PERCENT|none");
}

void add_engine_option(CLI::App& command, std::string& engine, const std::string& description) {
  std::vector<std::string> names = sampler::engine_names();
  names.insert(names.begin(), "auto");
  command
      .add_option("--engine", engine,
                  description + "; auto: by the first of these that is permitted")
      ->envname("SAMPAN_ENGINE")
      ->type_name(fmt::format("{}", fmt::join(names, "|")))
      ->check(CLI::IsMember(names).description(""));
}

void add_mode_option(CLI::App& command, std::string& mode) {
  command
      .add_option(
          "--mode", mode,
          "Permissions of the recording and its directory, such as 640: it holds command lines")
      ->envname("SAMPAN_MODE")
      ->type_name("MODE")
      ->capture_default_str();
}

mode_t file_mode(const std::string& text) {
  mode_t mode = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, mode, 8);
  if (error != std::errc() || rest != end || (mode & ~mode_t{0666}) != 0 || (mode & 0600) != 0600) {
    throw UsageError(
        "--mode {}: must be permissions in octal that let the owner read and write, such as 640",
        text);
  }
  return mode;
}

sampler::RateOptions rate_options(const SamplingOptions& options, bool quiet) {
  sampler::RateOptions rate;
  rate.asked_hz = options.rate_hz;
  rate.limit = parse_cost_limit(options.max_overhead);
  if (!quiet) rate.say = [](const std::string& what) { say("sampan: {}\n", what); };
  return rate;
}

void add_run_options(CLI::App& command, RunOptions& options) {
  add_sampling_options(command, options.sampling);
  command
      .add_option("-o,--output", options.output,
                  "Directory for recordings: each run gets a directory in it")
      ->envname("SAMPAN_OUTPUT")
      ->type_name("DIR")
      ->capture_default_str();
  command
      .add_option("-f,--format", options.formats,
                  fmt::format("Files to write beside the recording: {} (repeatable)",
                              fmt::join(format_names(), ", ")))
      ->envname("SAMPAN_FORMAT")
      ->type_name("FORMAT")
      ->allow_extra_args(false)
      ->delimiter(',');
  command.add_flag("--follow,!--no-follow", options.follow, "Profile child processes, too")
      ->envname("SAMPAN_FOLLOW");
  command.add_flag_callback(
      "-g", [] {}, "Accepted because perf has it: stacks are always taken");
  command.add_flag("--quiet", options.quiet, "Print no report at the end")->envname("SAMPAN_QUIET");
  command
      .add_flag("--symbolize,!--no-symbolize", options.symbolize,
                "Write function names into the recording")
      ->envname("SAMPAN_SYMBOLIZE");
  add_sysroot_option(command, options.sysroot);
  command
      .add_flag("--strict", options.strict,
                "Do not run the program if it cannot be recorded: exit with 125 instead")
      ->envname("SAMPAN_STRICT");
  command
      .add_flag("--instructions", options.instructions,
                "Count the instructions of the program, if the processor and the kernel permit it")
      ->envname("SAMPAN_INSTRUCTIONS");
  command.add_option("--name", options.name, "Name of the run (default: the program's)")
      ->envname("SAMPAN_NAME")
      ->type_name("NAME");
  add_mode_option(command, options.mode);
  command.add_flag(
      "--start-paused", options.start_paused,
      "Take no samples until the program or `sampan ctl` asks for them (SAMPAN_START=paused)");
  command
      .add_flag("--sections-only", options.sections_only,
                "Take samples only while the program has a section open")
      ->envname("SAMPAN_SECTIONS_ONLY");
  command
      .add_flag("--python,!--no-python", options.python,
                "Show the functions of a Python interpreter among the native frames")
      ->envname("SAMPAN_PYTHON");
  command
      .add_option("--max-sections", options.max_sections,
                  "Write a directory of files for each section, of at most so many sections, the "
                  "longest first; 0: none")
      ->envname("SAMPAN_MAX_SECTIONS")
      ->type_name("N")
      ->capture_default_str();
  add_continuous_options(command, options.continuous);
  add_push_options(command, options.push);
  add_black_box_option(command, options.continuous);
}

void add_sampling_clock_option(CLI::App& command, sampler::SamplingClock& clock) {
  using sampler::SamplingClock;
  static const std::map<std::string, SamplingClock> kClocks = {{"auto", SamplingClock::kAuto},
                                                               {"drum", SamplingClock::kDrum},
                                                               {"perf", SamplingClock::kPerf},
                                                               {"timer", SamplingClock::kTimer}};
  command
      .add_option("--sampling-clock", clock,
                  "What samples threads above the kernel's tick: perf: perf events; drum: signals "
                  "from sampan; timer: nothing, so that they stay at the tick; auto: perf, or drum "
                  "where the kernel refuses perf_event_open")
      ->envname("SAMPAN_SAMPLING_CLOCK")
      ->type_name("auto|drum|perf|timer")
      ->transform(CLI::CheckedTransformer(kClocks).description(""));
}

void add_watch_options(CLI::App& command, sampler::WatchOptions& watched) {
  const auto heap = [&watched](const std::string& text) {
    watched.heap_mean = text.empty() ? sampler::kUsualHeapMean : heap_mean_value("--heap", text);
  };
  command
      .add_option_function<std::string>(
          "--heap", heap,
          fmt::format("Sample allocations, too: one in BYTES on average (default {}k); off: not "
                      "before `sampan ctl PID heap on`",
                      sampler::kUsualHeapMean / 1024))
      ->envname("SAMPAN_HEAP")
      ->type_name("BYTES")
      ->expected(0, 1);
  const auto locks = [&watched](const std::string& text) {
    watched.lock_limit_ns =
        text.empty() ? sampler::kUsualLockLimitNs : lock_limit_value("--locks", text);
  };
  command
      .add_option_function<std::string>(
          "--locks", locks,
          fmt::format("Record waits for locks, too, with who held them: all that are longer than "
                      "TIME (default {}us), some of the shorter ones; off: not before `sampan ctl "
                      "PID locks on`",
                      sampler::kUsualLockLimitNs / kNsPerUs))
      ->envname("SAMPAN_LOCKS")
      ->type_name("TIME")
      ->expected(0, 1);
}

bool starts_paused(const RunOptions& options) {
  const char* variable = std::getenv("SAMPAN_START");
  const std::string start = variable != nullptr ? variable : "";
  if (!start.empty() && start != "paused" && start != "running") {
    throw UsageError("SAMPAN_START is '{}': must be paused or running", start);
  }
  return options.start_paused || start == "paused";
}

std::vector<const exporters::Format*> chosen_formats(const RunOptions& options) {
  std::vector<const exporters::Format*> chosen;
  const std::vector<std::string> names = format_names();
  for (const std::string& name : options.formats.empty() ? kUsualFormats : options.formats) {
    if (std::ranges::find(names, name) == names.end()) {
      throw UsageError("unknown format '{}'{}", name, did_you_mean(name, names));
    }
    if (name == "none") continue;
    const exporters::Format* format = &exporters::format(name);
    if (std::ranges::find(chosen, format) == chosen.end()) chosen.push_back(format);
  }
  return chosen;
}

}  // namespace sampan::cli
