// Finds and reads the bytes of a file that another process has mapped, even if the path names
// another file now: from the file, or, when that can no longer be opened, from what the process has
// mapped of it. Reads beyond the end are short. Nothing is mapped here, so a file that is truncated
// meanwhile costs bytes, but raises no SIGBUS.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/file_descriptor.h"
#include "sampler/process/memory_map.h"

namespace sampan::sampler {

// Reads at an offset of the file. Returns how many bytes it could read.
using ModuleBytes = std::function<size_t(uint64_t offset, std::span<uint8_t> buffer)>;

inline bool read_all(const ModuleBytes& bytes, uint64_t offset, std::span<uint8_t> buffer) {
  return bytes(offset, buffer) == buffer.size();
}

ModuleBytes bytes_of_file(std::shared_ptr<FileDescriptor> file);

// `size` bytes of the file from `offset` on are mapped at the AVMA `start`.
struct MappedPart {
  uint64_t offset;
  uint64_t size;
  Avma start;
};
ModuleBytes bytes_of_process(pid_t pid, std::vector<MappedPart> parts);

// A mapped file that its path does not name: it was deleted, replaced, or is in another mount
// namespace. It can be opened while this object lives.
struct HiddenFile {
  std::string path;
  std::vector<uint8_t> build_id;
  std::shared_ptr<FileDescriptor> file;

  std::string open_as() const;
};

struct ModuleFile {
  ModuleBytes bytes;
  // Null when the bytes come from the process's memory, which has only the file's segments.
  std::shared_ptr<FileDescriptor> file;
};

// `range` is one of `map`, the process's memory.
ModuleFile open_module(pid_t pid, const MappedRange& range, const std::vector<MappedRange>& map);

// Whether the path is that of this file here, in our mount namespace.
bool is_at_path(const std::shared_ptr<FileDescriptor>& file, const std::string& path);

// Adds those that `all` does not have.
void add_new(const std::vector<HiddenFile>& files, std::vector<HiddenFile>* all);

}  // namespace sampan::sampler
