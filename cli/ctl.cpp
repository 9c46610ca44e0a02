// sampan ctl PID [status|pause|resume|flush|rate HZ|heap BYTES|locks TIME]: controls a recording in progress.
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
  std::string setting;
};

// What the recorder is asked for.
std::string request(const CtlOptions& options) {
  const std::string& command = options.command;
  const bool needs_setting = command == "rate" || command == "heap" || command == "locks";
  if (needs_setting == options.setting.empty()) {
    throw UsageError(
        "ctl: {} {} a setting: sampan ctl {} rate HZ, heap on|off|BYTES, locks on|off|TIME",
        command, needs_setting ? "needs" : "does not take", options.pid);
  }
  if (!needs_setting) return command;
  const uint64_t setting = command == "rate"   ? rate_value("rate", options.setting)
                           : command == "heap" ? heap_mean_value("heap", options.setting)
                                               : lock_limit_value("locks", options.setting);
  return fmt::format("{} {}", command, setting);
}

int ctl(const CtlOptions& options) {
  fmt::print("{}\n", sampler::control(options.pid, request(options), read_control_token()));
  return 0;
}

}  // namespace

void add_ctl(CLI::App& app, Commands& commands) {
  CLI::App* command = app.add_subcommand(
      "ctl", "Pause, resume or flush a recording in progress, or change what it records");
  set_examples(*command,
               {"sampan ctl PID pause", "sampan ctl PID rate 99", "sampan ctl PID heap off"},
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
          "flush: write all samples to the recording; rate: change the rate; heap, locks: record "
          "allocations or waits for locks, in programs started with --heap or --locks")
      ->type_name("status|pause|resume|flush|rate|heap|locks")
      ->check(CLI::IsMember({"status", "pause", "resume", "flush", "rate", "heap", "locks"})
                  .description(""));
  command
      ->add_option("SETTING", options->setting,
                   "Of rate: samples per second of CPU of each thread, such as 99 or 1k; of heap: "
                   "a mean number of "
                   "bytes between two allocations, such as 512K; of locks: the shortest wait, such "
                   "as 10us; of both: "
                   "on or off")
      ->type_name("HZ|BYTES|TIME");
  commands.actions[command] = [options] { return ctl(*options); };
}

}  // namespace sampan::cli
