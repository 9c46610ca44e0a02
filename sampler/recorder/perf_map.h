// The map of generated code that a runtime writes for perf, of a process that is in another PID namespace: its number there is in
// the name of the file, and is known only while it lives. For the others, the symbolizer finds the file.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "base/jit_file.h"

namespace sampan::sampler {

class PerfMap {
 public:
  explicit PerfMap(pid_t pid);

  // Whether the process has another number where it is.
  bool is_elsewhere() const { return !path_.empty(); }
  // Keeps the file open if it is there; its root goes away with the process.
  void look();
  // What it has now.
  void read(const std::function<void(const JitCode&)>& take);

 private:
  std::string path_;
  UnixNs begun_ns_ = 0;
  JitFile file_;
};

}  // namespace sampan::sampler
