// sampan merge: merges several recordings into one.
#include <fmt/core.h>
#include <malloc.h>
#include <poll.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/say.h"
#include "cli/command.h"
#include "cli/recorded_profile.h"
#include "cli/recording_options.h"
#include "cli/signals.h"
#include "recording/merge_files.h"

namespace sampan::cli {
namespace {

namespace fs = std::filesystem;

struct MergeOptions {
  std::vector<std::string> recordings;
  std::string output;
  std::string sample;            // "16", "10%"; "": all
  std::optional<uint32_t> seed;  // of the choice
  std::string align;             // "": as is usual
};

// How many of `all`: "16" or "10%", of which one at least.
size_t sample_size(const std::string& text, size_t all) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  const bool is_share = std::string_view(rest, end) == "%";
  const bool is_count = rest == end && value == std::floor(value);
  if (error != std::errc() || !(value > 0) || (is_share ? value > 100 : !is_count)) {
    throw UsageError(
        "merge: --sample takes a number of recordings or a share of them, as 16 or 10%: {}", text);
  }
  const double count = is_share ? std::ceil(value / 100 * static_cast<double>(all)) : value;
  return static_cast<size_t>(std::min(count, static_cast<double>(all)));
}

// At random, in their order.
std::vector<LabelledPath> sampled(const std::vector<LabelledPath>& paths, size_t count,
                                  uint32_t seed) {
  std::vector<LabelledPath> chosen;
  std::ranges::sample(paths, std::back_inserter(chosen), static_cast<ptrdiff_t>(count),
                      std::mt19937(seed));
  return chosen;
}

// A name without the extension of a recording is a directory, which is created if it does not
// exist.
std::string output_path(const std::string& output) {
  const fs::path path(output);
  if (path.extension() == ".sampan" && !fs::is_directory(path)) return path;
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw Error("creating {}: {}", output, error.message());
  return path / "recording.sampan";
}

recording::MergeAlign alignment(const std::string& text) {
  constexpr std::string_view kMarker = "marker:";
  if (text.empty()) return {};
  if (text == "start") return {recording::Align::kStart};
  if (text == "clock") return {recording::Align::kClock};
  if (text.starts_with(kMarker) && text.size() > kMarker.size()) {
    return {recording::Align::kMarks, text.substr(kMarker.size())};
  }
  throw UsageError("merge: --align takes start, clock, or marker:NAME, not '{}'", text);
}

// A recording takes megabytes and is gone after a moment, a thousand times. Without this, the C library gives each table
// back to the kernel, and new pages take two thirds of the time.
void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most that it permits
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

int merge_recordings(const MergeOptions& options) {
  keep_freed_memory();
  std::vector<LabelledPath> chosen = labelled_paths(options.recordings);
  const size_t all = chosen.size();
  if (!options.sample.empty()) {
    const uint32_t seed = options.seed.value_or(std::random_device()());
    chosen = sampled(chosen, sample_size(options.sample, all), seed);
    say("sampan: {} of {} recordings at random; --seed {} takes the same again\n", chosen.size(),
        all, seed);
  }
  std::vector<recording::MergeFile> files;
  for (const LabelledPath& path : chosen) files.push_back({path.label, path.path, path.is_chosen});
  const std::string path = output_path(options.output);
  StopSignals stop;
  const recording::MergedFiles merged =
      recording::merge_files(files, path, alignment(options.align), [&] {
        pollfd stop_event = {stop.fd(), POLLIN, 0};
        if (::poll(&stop_event, 1, 0) <= 0) return false;
        stop.take();
        return true;
      });
  fmt::print("{}\n", path);
  for (const recording::LeftOut& each : merged.left_out)
    say("sampan: {}: left out: {}\n", each.label, each.why);
  say("sampan: merged {} of {} recordings, {}\n", merged.merged, all,
      recording::words(merged.alignment));
  return 0;
}

}  // namespace

void add_merge(CLI::App& app, Commands& commands) {
  CLI::App* const command =
      app.add_subcommand("merge", "Merge several recordings (runs, hosts, ranks) into one");
  const auto options = std::make_shared<MergeOptions>();
  command
      ->add_option("RECORDING", options->recordings,
                   "A recording.sampan or its directory; LABEL=RECORDING names it")
      ->required();
  command
      ->add_option("-o,--output", options->output,
                   "Directory or file (.sampan) of the new recording")
      ->type_name("DIR|FILE")
      ->required();
  CLI::Option* const sample =
      command
          ->add_option("--sample", options->sample,
                       "Merge only so many of the recordings, chosen at random")
          ->type_name("N|PERCENT");
  command
      ->add_option("--seed", options->seed,
                   "Choose those that an earlier merge with this seed chose")
      ->type_name("N")
      ->needs(sample);
  command
      ->add_option("--align", options->align,
                   "start: all begin together; clock: by the clocks of their hosts; marker:NAME: "
                   "by the ends of the spans, or the "
                   "events, that all have, such as barriers (default: clock if all ran at the same "
                   "time, else start)")
      ->type_name("start|clock|marker:NAME");
  set_examples(*command, {"sampan merge -2 -1 -o both", "sampan merge web=DIR db=DIR -o both",
                          "sampan merge --sample 16 profiles/* -o some"});
  commands.actions[command] = [options] { return merge_recordings(*options); };
}

}  // namespace sampan::cli
