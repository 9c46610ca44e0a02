// /proc/PID/maps, line by line (proc_pid_maps(5)). Paths are those of the process's own root.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sampan::attach {

// A stretch of memory that was mapped at once.
struct MappedRange {
  uint64_t start;  // AVMAs: [start, end)
  uint64_t end;
  uint64_t offset;  // in the file, of `start`
  uint64_t device;  // as stat(2) has it
  uint64_t inode;   // 0: no file
  bool executable;
  bool deleted;      // the file has no name any more, or another file has it now
  std::string path;  // "" or "[heap]" for no file
};

// Nothing for a line that makes no sense.
std::optional<MappedRange> parse_map_line(std::string_view line);

// In order of addresses. Empty when the process is gone or may not be looked at.
std::vector<MappedRange> read_memory_map(pid_t pid);

}  // namespace sampan::attach
