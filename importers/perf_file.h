// The containers of perf.data: records, the attributes of events, and what the file says about the machine. Files that were
// written to disk, to a pipe, and compressed (perf record -z) are the same behind this interface.
//
// Format: linux tools/perf/Documentation/perf.data-file-format.txt, include/uapi/linux/perf_event.h. Every length is checked;
// throws Error.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sampan::importers {

struct PerfEvent {
  perf_event_attr attributes = {};  // as far as the file has them
  std::vector<uint64_t> ids;        // of its records
  std::string name;                 // "cycles:u"; "" if the file does not say it
};

struct PerfBuildId {
  std::string path;
  std::vector<uint8_t> bytes;
};

// One record: its header, and the bytes after it.
struct PerfRecord {
  uint32_t type = 0;  // PERF_RECORD_*
  uint16_t misc = 0;
  std::span<const uint8_t> body;
};

struct PerfFile {
  std::vector<PerfEvent> events;    // at least one
  std::vector<PerfRecord> records;  // in the order of the file; those of the kernel alone
  std::vector<PerfBuildId> build_ids;
  std::string note;  // what is wrong with it: the records in front of that are there
  std::string host, kernel;
  std::vector<std::string> command;
  std::vector<std::vector<uint8_t>> inflated;  // what records of compressed files point into
};

bool is_perf_file(std::string_view bytes);
// The records point into `bytes`.
PerfFile read_perf_file(std::string_view bytes);

}  // namespace sampan::importers
