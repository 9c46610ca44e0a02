// The head of every output of `sampan dump`: which process it shows, and when.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/text/json_writer.h"

namespace sampan::live {

struct DumpHead {
  pid_t pid;
  std::string executable;
  std::vector<std::string> command;
  std::string time;  // ISO 8601 in UTC, to the millisecond
};

// Throws Error when no engine can look into the process.
DumpHead dump_head(pid_t pid);

// Two lines; `summary`: what is shown of the process.
std::string head_as_text(const DumpHead& head, const std::string& summary);
// Members of the object that is open. `stopped_ns`: how long its threads stood still.
void write_head(Json& json, const DumpHead& head, uint64_t stopped_ns,
                const std::vector<std::string>& notes);

}  // namespace sampan::live
