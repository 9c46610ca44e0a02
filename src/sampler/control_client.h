// `sampan ctl`'s side of control_socket.h.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace sampan::sampler {

// Asks the recorder of the process `pid`, or the recorder that is that process. Returns what it has
// done, as a sentence. Throws Error when there is none, or when it refuses.
std::string control(pid_t pid, std::string_view command, std::string_view token);

}  // namespace sampan::sampler
