// From the stacks of one process, as addresses, to stack rows of the recording. Frames are looked
// up once and remembered until the modules change, or the recording goes on in another file; what a
// stack shares with the thread's previous one is not looked at again.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "recording/writer.h"
#include "sampler/module_map.h"
#include "sampler/record_decoder.h"

namespace sampan::sampler {

class StackRecorder {
 public:
  // The stack that a thread had last: the row up to each of its frames, root first.
  struct Previous {
    std::vector<uint32_t> rows;
    uint64_t changes = 0;     // of the modules, when `rows` was made
    uint64_t generation = 0;  // of the recording's files
  };

  explicit StackRecorder(recording::Writer& writer) : writer_(writer) {}

  void load(const ModuleLoadRecord& record);
  void unload(const ModuleUnloadRecord& record);

  // The row of `stack` (lookup AVMAs, root first) in a sample taken at `time_ns`
  // (CLOCK_MONOTONIC), of which `shared` frames at the root side are those of `previous`. kNone
  // when the stack is empty.
  uint32_t row(Previous& previous, std::span<const uint64_t> stack, size_t shared,
               uint64_t time_ns);

 private:
  uint32_t frame_row(uint64_t avma, uint64_t time_ns);

  recording::Writer& writer_;
  ModuleMap modules_;
  uint64_t generation_ = 0;
  std::unordered_map<uint64_t, uint32_t> frames_;  // by AVMA, with the modules as they are now
};

}  // namespace sampan::sampler
