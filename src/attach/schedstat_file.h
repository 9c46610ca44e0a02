// The run times of one thread, read again and again: /proc/PID/task/TID/schedstat, kept open as
// long as there are descriptors to spare (RLIMIT_NOFILE), so that a look costs one system call. An
// open file stays that of its thread, whoever has the tid later.
#pragma once

#include <sys/types.h>

#include <optional>

#include "attach/proc_task.h"
#include "sampler/file_descriptor.h"

namespace sampan::attach {

class SchedstatFile {
 public:
  SchedstatFile(pid_t pid, pid_t tid);

  // Nothing when the thread is gone.
  std::optional<RunTimes> read() const;

 private:
  pid_t pid_, tid_;
  sampler::FileDescriptor file_;
};

}  // namespace sampan::attach
