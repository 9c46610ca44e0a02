// sampan push --to URL [RECORDING...]
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/latest_recording.h"
#include "cli/push_options.h"
#include "cli/recording_options.h"
#include "cli/values.h"
#include "recording/reader.h"
#include "recording/segments.h"

namespace sampan::cli {
namespace {

struct PushCommandOptions {
  PushCommandOptions() { push.prefix = "--"; }
  PushOptions push;
  std::vector<std::string> recordings;
  uint64_t timeout_ns = 60 * kNsPerSecond;
  bool again = false;
};

// The files of a recording; each becomes a piece. Throws Error if there are none.
std::vector<std::string> pieces_of(const std::string& recording) {
  const std::string path = recording_path(named_recording(recording));
  if (!std::filesystem::is_directory(path)) {
    recording::read(path);  // reports an invalid file at once
    return {path};
  }
  std::vector<std::string> files = recording::segment_files(path);
  if (files.empty()) throw Error("{}: contains no recording", recording);
  return files;
}

int push_recordings(const PushCommandOptions& options) {
  if (!options.push.wanted())
    throw UsageError("push: --to is missing: the store's address, such as http://HOST:4040");
  const push::PushOptions asked = push_options(options.push, -1);
  std::vector<std::string> files;
  for (const std::string& recording : options.recordings) {
    const std::vector<std::string> more = pieces_of(recording);
    files.insert(files.end(), more.begin(), more.end());
  }
  push::Pusher pusher(asked);
  if (options.again) pusher.restore();
  for (const std::string& file : files) pusher.add(file);
  const push::Summary summary = pusher.finish(std::chrono::nanoseconds(options.timeout_ns));
  say_pushed(summary, options.push, pusher.directory(), false);
  const push::Counts& counts = summary.counts;
  const bool all = counts.refused == 0 && counts.dropped == 0 && summary.left.items == 0;
  return all ? 0 : kExitFailure;
}

}  // namespace

void add_push(CLI::App& app, Commands& commands) {
  CLI::App* const command =
      app.add_subcommand("push", "Push recordings to a profile store: Pyroscope, OTLP");
  const auto options = std::make_shared<PushCommandOptions>();
  command->add_option("RECORDING", options->recordings,
                      "A recording.sampan or its directory (default: what is in the spool)");
  add_push_options(*command, options->push);
  add_time_option(*command, "--timeout",
                  "How long to try; what was not sent then stays in the spool",
                  [options](uint64_t ns) { options->timeout_ns = ns; })
      ->default_str("60s");
  command->add_flag("--again", options->again, "Send what the store refused before, too");
  set_examples(*command, {"sampan push --to http://localhost:4040 -f pyroscope -1",
                          "sampan push --to http://localhost:4318 -f otlp --label team=search -1",
                          "sampan push --to http://localhost:4040 -f pyroscope --again"});
  commands.actions[command] = [options] { return push_recordings(*options); };
}

}  // namespace sampan::cli
