// The CPython of another process: its lock (the GIL), and which thread holds it. Read from the
// process's memory, for interpreters that sampan knows (python_interpreter.h). The memory is hostile, and changes while it is read: an answer is a hint
// about this moment.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/address.h"
#include "base/time.h"
#include "sampler/process/python_interpreter.h"

namespace sampan::sampler {

class PythonRuntime {
 public:
  explicit PythonRuntime(pid_t pid) : pid_(pid) {}
  // With an interpreter that was found before.
  PythonRuntime(pid_t pid, const PythonInterpreter& interpreter)
      : pid_(pid), interpreter_(interpreter) {}

  // Whether a thread that waits for this futex waits for a GIL. Each interpreter may have its own.
  bool is_gil(Avma futex, MonotonicNs now_ns);
  // The thread that holds the GIL of this futex, or held it last; nothing if the interpreter does
  // not say (before 3.11).
  std::optional<pid_t> gil_holder(Avma futex) const;

 private:
  void read_gils();
  bool read(Avma avma, uint64_t& value) const;
  Avma gil_of(Avma futex) const;  // 0: none

  pid_t pid_;
  std::optional<PythonInterpreter> interpreter_;  // that is known
  std::vector<Avma> gils_;
  MonotonicNs looked_ns_ = 0;
};

}  // namespace sampan::sampler
