// sampan merge: merges several recordings into one.
#include "recording/merge.h"

#include <fmt/core.h>
#include <poll.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/say.h"
#include "cli/command.h"
#include "cli/recorded_profile.h"
#include "cli/recording_options.h"
#include "cli/signals.h"
#include "recording/writer.h"

namespace sampan::cli {
namespace {

namespace fs = std::filesystem;

struct MergeOptions {
  std::vector<std::string> recordings;
  std::string output;
  size_t subsample = 0;  // 0: all
  std::string align;     // "": the usual alignment
};

// Selects `count` recordings, evenly distributed.
std::vector<LabelledPath> evenly(const std::vector<LabelledPath>& paths, size_t count) {
  if (count == 0 || count >= paths.size()) return paths;
  std::vector<LabelledPath> chosen;
  for (size_t i = 0; i < count; ++i) chosen.push_back(paths[i * paths.size() / count]);
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

recording::Align alignment(const MergeOptions& options,
                           const std::vector<recording::MergeInput>& inputs) {
  if (options.align.empty()) return recording::usual_alignment(inputs);
  return options.align == "clock" ? recording::Align::kClock : recording::Align::kStart;
}

int merge_recordings(const MergeOptions& options) {
  const std::vector<LabelledPath> all = labelled_paths(options.recordings);
  std::vector<recording::MergeInput> inputs;
  for (const LabelledPath& path : evenly(all, options.subsample)) {
    inputs.push_back({path.label, read_recording(path.path)});
  }
  const size_t count = inputs.size();
  const recording::Align align = alignment(options, inputs);
  const recording::Recording merged = recording::merge(std::move(inputs), align);
  const std::string path = output_path(options.output);
  {
    StopSignals stop;
    recording::write(merged, path, [&] {
      pollfd stop_event = {stop.fd(), POLLIN, 0};
      if (::poll(&stop_event, 1, 0) <= 0) return false;
      stop.take();
      return true;
    });
  }
  fmt::print("{}\n", path);
  say("sampan: merged {} of {} recordings, {}\n", count, all.size(),
      align == recording::Align::kClock ? "at the times of their clocks"
                                        : "as if all had begun together");
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
  command
      ->add_option("--subsample", options->subsample,
                   "Merge only N of the recordings, evenly spread over the list")
      ->type_name("N")
      ->check(CLI::PositiveNumber.description(""));
  command
      ->add_option(
          "--align", options->align,
          "start: all begin together; clock: by the clocks of their hosts (default: clock if "
          "all ran at the same time, else start)")
      ->type_name("start|clock")
      ->check(CLI::IsMember({"start", "clock"}).description(""));
  set_examples(*command, {"sampan merge -2 -1 -o both", "sampan merge web=DIR db=DIR -o both",
                          "sampan merge --subsample 16 profiles/* -o some"});
  commands.actions[command] = [options] { return merge_recordings(*options); };
}

}  // namespace sampan::cli
