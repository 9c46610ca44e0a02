// Turns the stacks of one process, which are addresses, into stack rows of the recording. Frames
// are looked up once and remembered until the modules change or the next file begins. What a stack
// shares with the thread's previous one is not looked up again.
//
// A frame of Python may come before its code object is announced: the announcement is in the ring
// of another thread, or did not fit (or only its name did), and is made again when a sample meets
// the object the next time. Until then the frame has no name, or no line; it gets it as long as the
// file is the same.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"
#include "recording/writer.h"
#include "sampler/process/module_map.h"
#include "sampler/recorder/python_code.h"

namespace sampan::sampler {

class StackRecorder {
 public:
  // The previous stack of a thread: the row up to each of its frames, root first.
  struct Previous {
    std::vector<uint32_t> rows;
    uint64_t changes = 0;     // of the modules, when `rows` was made
    uint64_t generation = 0;  // of the recording's files
    bool all_known = true;    // no frame waits for the announcement of its code object
  };

  explicit StackRecorder(recording::Writer& writer);

  void load(const ModuleLoadRecord& record);
  bool has_module(Avma avma, MonotonicNs time_ns) const {
    return modules_.lookup(avma, time_ns).module != recording::kNone;
  }
  void unload(const ModuleUnloadRecord& record);
  void add(PythonCodeRecord record);

  // The row of `stack` (lookup AVMAs and wire::python_frame(), root first) in a sample taken at
  // `time_ns`, of which `shared` frames at the root side are those of `previous`. kNone when the
  // stack is empty.
  uint32_t row(Previous& previous, std::span<const uint64_t> stack, size_t shared,
               MonotonicNs time_ns);
  // The row of the frame of code at a lookup AVMA.
  uint32_t code_row(Avma avma, MonotonicNs time_ns);
  // The row of a frame that is no code, but what lies at `avma`: a variable of a module. kNone when it is in no module.
  uint32_t data_row(Avma avma, MonotonicNs time_ns);
  // Whether the latest row has code that was new and is in no module.
  bool met_unknown_code() const { return met_unknown_code_; }
  // A frame that is in no module.
  struct Unknown {
    Avma avma;
    uint32_t row;  // in the current file
  };
  // Those that were new since this was called last.
  std::vector<Unknown> take_unknown() { return std::exchange(unknown_, {}); }

 private:
  uint32_t frame_row(Avma avma, MonotonicNs time_ns);
  uint32_t python_row(uint64_t frame);
  uint32_t provisional_row(uint64_t frame);
  void follow_file();

  recording::Writer& writer_;
  ModuleMap modules_;
  PythonCodes python_;
  uint64_t generation_ = 0;
  bool met_unknown_code_ = false;
  std::vector<Unknown> unknown_;
  std::unordered_map<uint64_t, uint32_t> frames_;  // by AVMA or Python frame
  const uint64_t number_;                          // of this recorder, in this process
  // Python frames of which not all is known, and their rows: by the number of their code object.
  std::unordered_map<uint32_t, std::unordered_map<uint64_t, uint32_t>> provisional_;
};

}  // namespace sampan::sampler
