// Files of modules, kept open until their functions have names: that is when the recording ends, and a program that was built and
// run in a temporary directory is gone by then.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "sampler/process/module_file.h"
#include "sampler/process/module_map.h"

namespace sampan::sampler {

class KeptFiles {
 public:
  // Whether the file of such a module is worth a descriptor, and was not asked for before. Those of the system stay.
  bool wants(const std::string& path, const std::vector<uint8_t>& build_id);
  void keep(const HiddenFile& file);
  // If it is: the file of a module that the process has just loaded.
  void keep_loaded(pid_t pid, const ModuleLoadRecord& record);

  // Those that cannot be opened by their paths any more.
  std::vector<HiddenFile> hidden() const;

 private:
  std::set<std::pair<std::string, std::vector<uint8_t>>> seen_;
  std::deque<HiddenFile> files_;  // the earliest first
};

}  // namespace sampan::sampler
