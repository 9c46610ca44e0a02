// `run` of a program that the shim cannot be preloaded into: static, musl, setuid. It is launched
// as ever, and sampled as `attach` does it.
#pragma once

#include <string>
#include <vector>

#include "cli/run_files.h"
#include "cli/run_options.h"
#include "recording/tables.h"
#include "sampler/cpu_accounting.h"
#include "sampler/preloadable.h"

namespace sampan::cli {

// Runs the command to its end; the recording is complete then. Throws
// attach::NotPermitted when no engine is permitted: the program has not been started then.
sampler::ExitState record_from_outside(const std::vector<std::string>& command,
                                       const RunOptions& options,
                                       const sampler::Preloadability& why,
                                       const recording::Session& session, RunFiles& files);

}  // namespace sampan::cli
