// The names that a Python program gives its threads, read from outside: those of threading.Thread. The program goes
// on meanwhile, so they are read twice, and a name counts if it was the same both times.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <unordered_map>

#include "base/time.h"
#include "sampler/process/python_interpreter.h"

namespace sampan::sampler {

class PythonThreadNames {
 public:
  explicit PythonThreadNames(pid_t pid) : pid_(pid) {}

  // Null: there is no interpreter that is known, (not) any more.
  void use(std::shared_ptr<const PythonInterpreter> interpreter);
  // The name to show for a thread: Python's, if the kernel's is the one that threads inherit, or the beginning of Python's.
  // The threads are read when one is not known, now and then.
  std::string name_of(pid_t tid, const std::string& in_kernel);
  // The thread has ended.
  void forget(pid_t tid) { names_.erase(tid); }

 private:
  using Names = std::unordered_map<pid_t, std::string>;

  void read();
  Names read_once() const;

  pid_t pid_;
  std::shared_ptr<const PythonInterpreter> interpreter_;
  Names names_;
  MonotonicNs next_read_ns_ = 0;
};

}  // namespace sampan::sampler
