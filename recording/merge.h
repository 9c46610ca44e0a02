// Several recordings as one: runs of the same program, ranks of a job, hosts of a service.
//
// Every process keeps the recording it came from (Recording::origins). What the recordings have in
// common, modules, frames, stacks and waits, is there once. An input that was merged itself brings
// its origins, with its label in front of theirs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "recording/reader.h"
#include "recording/write.h"

namespace sampan::recording {

// What becomes of the times of recordings that began at different moments.
enum class Align {
  kStart,  // all begin together
  kClock,  // as the hosts' clocks said
};

struct MergeInput {
  std::string label;
  Recording recording;
};

// By the clock, where there was a moment at which all of them ran.
Align usual_alignment(std::span<const MergeInput> inputs);

// At least one input. Where one has lost its end or is damaged, the end's note says so.
Recording merge(std::vector<MergeInput> inputs, Align align);

}  // namespace sampan::recording
