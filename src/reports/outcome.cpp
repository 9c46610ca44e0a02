#include "reports/outcome.h"

#include <fmt/core.h>
#include <string.h>

namespace sampan::reports {
namespace {

std::string signal_name(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

}  // namespace

std::string ended(std::optional<int> exit_status, std::optional<int> exit_signal) {
  if (exit_signal) return "killed by " + signal_name(*exit_signal);
  if (exit_status) return fmt::format("exit status {}", *exit_status);
  return "";
}

std::string ended_briefly(const profile::Process& process) {
  if (process.exit_signal) return signal_name(*process.exit_signal);
  if (process.exit_status) return std::to_string(*process.exit_status);
  if (process.lives_on) return "lives";
  return process.replaced ? "exec" : "-";
}

}  // namespace sampan::reports
