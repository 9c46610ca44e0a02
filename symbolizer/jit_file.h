// The files in which runtimes describe the code that they generate (base/jit_file.h), for the processes of a profile.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>

#include "base/jit_file.h"
#include "base/time.h"
#include "profile/profile.h"

namespace sampan::symbolizer {

// When a process of a profile that was recorded on this machine began. It may have run long before
// it was recorded.
UnixNs begun_unix_ns(const profile::Profile& profile, const profile::Process& process);

// jit-PID.dump, which runtimes write for perf on request: the code that was made, with times
// (Linux, tools/perf/Documentation/jitdump-specification.txt). Reports code that process `pid` made
// or moved, in the order of the file. Returns what could not be read, as a sentence; "" if nothing.
std::string read_jit_dump(FILE* file, uint32_t pid,
                          const std::function<void(const JitCode&)>& take);

}  // namespace sampan::symbolizer
