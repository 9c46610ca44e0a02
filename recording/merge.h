// Merges several recordings into one: runs of the same program, ranks of a job, hosts of a service.
//
// Recording::origins says which recording each process is from. Modules, frames, stacks and waits
// that the recordings have in common become one row. An input that was merged itself keeps its
// origins, with its label before theirs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "recording/reader.h"

namespace sampan::recording {

// How recordings that began at different times are aligned.
enum class Align {
  kStart,  // all begin at time 0
  kClock,  // by the hosts' clocks
};

struct MergeInput {
  std::string label;
  Recording recording;
};

// By the clock, if there was a moment at which all of them ran.
Align usual_alignment(std::span<const MergeInput> inputs);

// At least one input. SessionEnd::note names inputs that are damaged or have no end.
Recording merge(std::vector<MergeInput> inputs, Align align);

}  // namespace sampan::recording
