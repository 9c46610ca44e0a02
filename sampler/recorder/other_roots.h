// The modules of processes whose root is not ours. The shim announces a module by the path that its process has for it,
// and by that path we have another file, or none.
//
// After chroot, a module is recorded with the path by which we find it. In another mount namespace there may be no such
// path: then the file is opened while the process lives, and stays open.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "sampler/process/module_file.h"
#include "sampler/process/module_map.h"
#include "sampler/process/process_root.h"

namespace sampan::sampler {

class OtherRoots {
 public:
  // A process with this root has loaded the module. Its path becomes ours. Returns whether the file is there.
  bool place(pid_t pid, const ProcessRoot& root, ModuleLoadRecord* record);
  // Those that cannot be opened by the path that was recorded.
  const std::vector<HiddenFile>& hidden() const { return hidden_; }

 private:
  using File = std::shared_ptr<FileDescriptor>;
  void place_file(pid_t pid, const ProcessRoot& root, const File& file, ModuleLoadRecord* record);

  // Where modules with a build-id are, for the next process that has them.
  std::map<std::tuple<ProcessRoot::Id, std::string, std::vector<uint8_t>>, std::string> places_;
  std::vector<HiddenFile> hidden_;
};

}  // namespace sampan::sampler
