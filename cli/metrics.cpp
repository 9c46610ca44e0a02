// sampan metrics: events and counters that the program marked, as tables and plots.
#include "exporters/metrics.h"

#include <fmt/core.h>

#include <memory>
#include <string>

#include "base/say.h"
#include "cli/command.h"
#include "cli/recorded_profile.h"
#include "cli/recording_options.h"
#include "cli/signals.h"
#include "profile/view.h"

namespace sampan::cli {
namespace {

struct MetricsOptions {
  RecordingOptions recording;
  std::string output;
};

int metrics(const MetricsOptions& options) {
  const profile::Profile profile = load_profile(options.recording);
  const profile::View view = select(profile, options.recording.selection);
  const std::string directory =
      options.output.empty() ? options.recording.directory() + "/metrics" : options.output;
  const InterruptibleWriting interruptible;
  const exporters::WrittenMetrics written = exporters::write_metrics(view, directory);
  for (const std::string& note : written.notes) say("sampan: {}\n", note);
  if (written.metrics == 0) {
    say("sampan: the program marked no events and counters, or none in this part\n");
  }
  fmt::print("{}/metrics.csv\n{}/metrics_comparison.svg\n", directory, directory);
  return 0;
}

}  // namespace

void add_metrics(CLI::App& app, Commands& commands) {
  CLI::App* const command = app.add_subcommand(
      "metrics", "Write tables and plots of the events and counters that the program marked");
  const auto options = std::make_shared<MetricsOptions>();
  add_recording_options(*command, options->recording);
  command
      ->add_option("-o,--output", options->output,
                   "Directory for the files (default: metrics/ beside the recording)")
      ->type_name("DIR");
  set_examples(*command, {"sampan metrics", "sampan metrics -o plots",
                          "sampan metrics --from 10s --to 1m -2"});
  commands.actions[command] = [options] { return metrics(*options); };
}

}  // namespace sampan::cli
