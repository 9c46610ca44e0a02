// What a recording says about the circumstances: the machine, the kernel, the command.
#pragma once

#include <string>
#include <vector>

#include "recording/tables.h"

namespace sampan::sampler {

// Ticks of the kernel in a second; 0: not known.
uint32_t kernel_hz();

// The session of `command`, starting now. `name` stands for the program; empty: the command's file
// name.
recording::Session describe_session(const std::vector<std::string>& command,
                                    const std::string& name, uint32_t rate_hz,
                                    const std::string& version);

}  // namespace sampan::sampler
