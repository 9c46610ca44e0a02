// Captures what a walk of a thread's Python frames will read, while the thread stands still: the
// frames, what tells their code objects apart, and the texts of those that are new.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/address.h"
#include "sampler/process/captured_memory.h"
#include "sampler/process/python_interpreter.h"
#include "sampler/process/python_threads.h"

namespace sampan::sampler {

struct CapturedPython {
  // Its PyThreadStates: several while it runs subinterpreters, innermost first. None: the thread runs no Python.
  std::vector<uint64_t> states;
  bool has_subinterpreters = false;  // the process
  std::vector<uint64_t> new_codes;   // code objects whose texts were captured for the first time
  CapturedMemory memory;
};

class PythonCapture {
 public:
  // `interpreter` is known.
  PythonCapture(pid_t pid, std::shared_ptr<const PythonInterpreter> interpreter)
      : pid_(pid), interpreter_(std::move(interpreter)), threads_(pid, *interpreter_) {}

  // `stack_low`, `stack`: the copy of the thread's stack, which outlives the reads of `captured`.
  void capture(pid_t tid, Avma stack_low, std::span<const std::byte> stack,
               CapturedPython& captured);
  // What was captured is lost: texts are captured again.
  void forget_texts() { seen_.clear(); }

 private:
  void capture_state(Avma state, CapturedPython& captured);
  bool capture_frames(uint64_t frame, CapturedPython& captured);
  void capture_around_beginning(Avma state, uint64_t cframe, CapturedPython& captured);
  void order_states(CapturedPython& captured) const;
  bool capture_code(uint64_t code, CapturedPython& captured);

  pid_t pid_;
  std::shared_ptr<const PythonInterpreter> interpreter_;
  PythonThreads threads_;
  std::unordered_map<pid_t, std::vector<uint64_t>> pages_;  // that the last captures read
  std::unordered_set<uint64_t> seen_;  // identities of code objects whose texts were captured
};

}  // namespace sampan::sampler
