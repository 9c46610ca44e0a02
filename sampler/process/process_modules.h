// The files whose code another process has mapped, from /proc/PID/maps: for the walker (Modules of
// unwind/stack_walk.h), and announced to the recording as they come and go.
//
// The file that is mapped is found in another mount namespace, too, and after it was deleted or
// replaced: through /proc/PID/map_files, else /proc/PID/root/PATH when device and inode are those
// of the mapping. The vdso is copied from the process. Everything that is read of these files may
// be hostile.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "sampler/process/module_file.h"
#include "sampler/process/module_map.h"
#include "unwind/image.h"

namespace sampan::sampler {

class ProcessModules {
 public:
  explicit ProcessModules(pid_t pid);
  ~ProcessModules();
  ProcessModules(ProcessModules&&) noexcept;

  struct Changes {
    std::vector<ModuleLoadRecord> loaded;
    std::vector<ModuleUnloadRecord> unloaded;
    std::vector<HiddenFile> files;      // of `loaded`, as far as they could be opened
    std::vector<HiddenFile> hidden;     // those that their paths do not name
    std::vector<std::string> problems;  // "/lib/x.so: cannot be read: …", each module once
    bool empty() const { return loaded.empty() && unloaded.empty(); }
  };
  // Reads the maps again. The records get `time_ns`. Pointers to modules that
  // have not changed stay valid; those to unloaded ones until the next refresh.
  Changes refresh(MonotonicNs time_ns);

  // The module with this code. False when there is none: JIT code, or a module that was loaded
  // after the latest refresh.
  bool find(uint64_t pc, unwind::Module& module) const;
  pid_t pid() const;
  // Grows whenever `find` may answer differently than before; cached rows are stale then.
  uint64_t generation() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sampan::sampler
