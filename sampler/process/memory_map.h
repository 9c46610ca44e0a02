// The lines of /proc/PID/maps (proc_pid_maps(5)). Paths are relative to the process's root.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"

namespace sampan::sampler {

// One mapping.
struct MappedRange {
  Avma start;  // [start, end)
  Avma end;
  uint64_t offset;  // in the file, of `start`
  uint64_t device;  // as stat(2) has it
  uint64_t inode;   // 0: no file
  bool executable;
  bool deleted;             // the path no longer names this file
  bool moved_code = false;  // the file's code is not mapped, but copied to memory behind this range
  std::string path;         // "" or "[heap]" for no file
};

// Nothing for a line that makes no sense.
std::optional<MappedRange> parse_map_line(std::string_view line);

// Ordered by address. Empty when the process is gone or may not be read.
std::vector<MappedRange> read_memory_map(pid_t pid);

}  // namespace sampan::sampler
