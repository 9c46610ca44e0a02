// The engines that sample from outside, as this processor has them.
#pragma once

#include <sys/types.h>

#include <memory>
#include <span>
#include <string>

#include "sampler/recorder/attached_process.h"
#include "sampler/recorder/recording_session.h"
#include "sampler/recorder/source.h"

namespace sampan::sampler {

struct EngineEntry {
  const char* name;
  std::unique_ptr<Engine> (*make)(RecordingSession&, AttachedProcesses, bool follow);
  std::string (*why_refused)(pid_t pid, int error);
};

// From the best to the least.
std::span<const EngineEntry> engines();

}  // namespace sampan::sampler
