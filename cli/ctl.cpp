// sampan ctl PID [status|pause|resume|flush|rate HZ]: controls a recording in progress.
#include <fmt/core.h>

#include <memory>
#include <optional>

#include "base/token_file.h"
#include "cli/command.h"
#include "cli/values.h"
#include "sampler/control/control_socket.h"

namespace sampan::cli {
namespace {

struct CtlOptions {
  pid_t pid = 0;
  std::string command = "status";
  std::optional<unsigned> rate_hz;
};

int ctl(const CtlOptions& options) {
  std::string command = options.command;
  if ((command == "rate") != options.rate_hz.has_value()) {
    throw UsageError(
        "ctl: only rate takes samples per second, and needs them: sampan ctl {} rate HZ",
        options.pid);
  }
  if (options.rate_hz) command += fmt::format(" {}", *options.rate_hz);
  fmt::print("{}\n", sampler::control(options.pid, command, read_control_token()));
  return 0;
}

}  // namespace

void add_ctl(CLI::App& app, Commands& commands) {
  CLI::App* command = app.add_subcommand(
      "ctl", "Pause, resume or flush a recording in progress, or change its rate");
  set_examples(*command, {"sampan ctl PID", "sampan ctl PID rate 99", "sampan ctl PID pause"},
               "If the recording has a token (SAMPAN_TOKEN_FILE), the same token is needed here");
  const auto options = std::make_shared<CtlOptions>();
  command
      ->add_option("PID", options->pid,
                   "A process that is being recorded, or the sampan that records it")
      ->required()
      ->check(CLI::PositiveNumber.description(""));
  command
      ->add_option(
          "COMMAND", options->command,
          "status: show the rate and its cost (default); pause: take no samples until resume; "
          "flush: write all samples to the recording; rate: change the rate")
      ->type_name("status|pause|resume|flush|rate")
      ->check(CLI::IsMember({"status", "pause", "resume", "flush", "rate"}).description(""));
  command
      ->add_option_function<std::string>(
          "HZ", [options](const std::string& text) { options->rate_hz = rate_value("rate", text); },
          "Samples per second of CPU of each thread, such as 99 or 1k")
      ->type_name("HZ");
  commands.actions[command] = [options] { return ctl(*options); };
}

}  // namespace sampan::cli
