// Finds the bytes behind a mapping of another process: of the very file that is mapped, whatever
// has its name now.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "attach/memory_map.h"
#include "attach/module_bytes.h"

namespace sampan::attach {

// A mapped file that its path does not name: deleted, replaced, or in another mount namespace. It
// can be opened while this lives.
struct HiddenFile {
  std::string path;
  std::vector<uint8_t> build_id;
  std::shared_ptr<sampler::FileDescriptor> file;

  std::string open_as() const;
};

struct ModuleFile {
  ModuleBytes bytes;
  // Null where the bytes come from the process's memory: then there are only its segments.
  std::shared_ptr<sampler::FileDescriptor> file;
};

// `range` is one of `map`, the process's memory.
ModuleFile open_module(pid_t pid, const MappedRange& range, const std::vector<MappedRange>& map);

// The path names the file of `range`, in the mount namespace that we are in.
bool is_at_path(const ModuleFile& file, const MappedRange& range);

}  // namespace sampan::attach
