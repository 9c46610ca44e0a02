// Where the bytes of a mapped file come from: from the file, or, where that can no longer be
// opened, from what the process has mapped of it. Reads that reach beyond what there is are short;
// nothing is mapped here, so a file that is cut short meanwhile costs its own bytes and no SIGBUS.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "sampler/file_descriptor.h"

namespace sampan::attach {

// Reads at an offset of the file. Returns how many bytes it could read.
using ModuleBytes = std::function<size_t(uint64_t offset, std::span<uint8_t> buffer)>;

inline bool read_all(const ModuleBytes& bytes, uint64_t offset, std::span<uint8_t> buffer) {
  return bytes(offset, buffer) == buffer.size();
}

ModuleBytes bytes_of_file(std::shared_ptr<sampler::FileDescriptor> file);

// `size` bytes of the file from `offset` on are mapped at the AVMA `start`.
struct MappedPart {
  uint64_t offset;
  uint64_t size;
  uint64_t start;
};
ModuleBytes bytes_of_process(pid_t pid, std::vector<MappedPart> parts);

// Reads the memory of a process (process_vm_readv(2)). Returns how many bytes it could read.
size_t read_process(pid_t pid, uint64_t avma, void* buffer, size_t size);

}  // namespace sampan::attach
