// The files whose code another process has mapped, from /proc/PID/maps: for the walker (Modules of
// unwind/stack_walk.h), and announced to the recording as they come and go.
//
// The bytes are a mapping of the file itself, opened so that the right one is found in another
// mount namespace and after it was deleted or replaced: /proc/PID/map_files, else
// /proc/PID/root/PATH when its device and inode are those of the mapping. The vdso is copied from
// the process. Everything read of these files is hostile.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attach/module_file.h"
#include "sampler/record_decoder.h"
#include "unwind/image.h"

namespace sampan::attach {

class ProcessModules {
 public:
  explicit ProcessModules(pid_t pid);
  ~ProcessModules();
  ProcessModules(ProcessModules&&) noexcept;

  struct Changes {
    std::vector<sampler::ModuleLoadRecord> loaded;
    std::vector<sampler::ModuleUnloadRecord> unloaded;
    std::vector<HiddenFile> hidden;     // of `loaded`, those that their paths do not name
    std::vector<std::string> problems;  // "/lib/x.so: cannot be read: …", each module once
    bool empty() const { return loaded.empty() && unloaded.empty(); }
  };
  // Reads the maps again. `time_ns` (CLOCK_MONOTONIC) is what the records say. Modules that have
  // not changed stay where they are; images of unloaded ones stay mapped until the next refresh.
  Changes refresh(uint64_t time_ns);

  // The module with this code. False when there is none: JIT code, or one that came after the last
  // refresh.
  bool find(uint64_t pc, unwind::Module& module) const;
  // Grows whenever `find` may answer differently than before: cached rows are stale then.
  uint64_t generation() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sampan::attach
