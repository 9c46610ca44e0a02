// How a process ended, in words.
#pragma once

#include <optional>
#include <string>

#include "profile/profile.h"

namespace sampan::reports {

// "exit status 3", "killed by SIGSEGV"; empty when neither is known.
std::string ended(std::optional<int> exit_status, std::optional<int> exit_signal);
// The same in few words, for a table: "0", "SIGSEGV", "exec", "lives", "-".
std::string ended_briefly(const profile::Process& process);

}  // namespace sampan::reports
