// sampan ctl PID [status|pause|resume|flush|rate HZ]: for a recording that is under way.
#include <fmt/core.h>

#include <memory>
#include <optional>

#include "cli/command.h"
#include "sampler/control_client.h"
#include "sampler/control_token.h"
#include "wire/control_block.h"

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
        "ctl: rate, and only that, goes with samples per second: sampan ctl {} rate HZ",
        options.pid);
  }
  if (options.rate_hz) command += fmt::format(" {}", *options.rate_hz);
  fmt::print("{}\n", sampler::control(options.pid, command, sampler::read_control_token()));
  return 0;
}

}  // namespace

void add_ctl(CLI::App& app, Commands& commands) {
  CLI::App* command =
      app.add_subcommand("ctl", "Pause, resume, flush a recording under way, or change its rate");
  command->footer("A recording with a token (SAMPAN_TOKEN_FILE) asks for the same here");
  const auto options = std::make_shared<CtlOptions>();
  command->add_option("PID", options->pid, "A process that is recorded, or the sampan that does it")
      ->required()
      ->check(CLI::PositiveNumber.description(""));
  command
      ->add_option("COMMAND", options->command,
                   "status: the rate and what it costs (default); pause: no samples until resume; "
                   "flush: write out what there is; rate: another one from now on")
      ->type_name("status|pause|resume|flush|rate")
      ->check(CLI::IsMember({"status", "pause", "resume", "flush", "rate"}).description(""));
  command->add_option("HZ", options->rate_hz, "Samples per second of CPU of each thread")
      ->type_name("HZ")
      ->check(CLI::Range(1u, wire::kHighestRateHz).description(""));
  commands.actions[command] = [options] { return ctl(*options); };
}

}  // namespace sampan::cli
