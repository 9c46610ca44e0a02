// The records of the kernel in perf.data, decoded by the attributes of their event.
//
// Format: include/uapi/linux/perf_event.h, "PERF_RECORD_*".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "importers/perf_file.h"
#include "unwind/registers.h"

namespace sampan::importers {

struct PerfBranch {
  uint64_t from = 0, to = 0, flags = 0;
};

struct PerfSample {
  size_t event = 0;  // of PerfFile::events
  uint64_t ip = 0;
  int32_t pid = -1, tid = -1;
  uint64_t time_ns = 0;
  uint64_t period = 0;
  bool in_kernel = false;
  std::vector<uint64_t> chain;       // with PERF_CONTEXT_* marks
  std::vector<PerfBranch> branches;  // newest first
  bool has_registers = false;
  unwind::Registers registers = {};     // of the user's code
  std::span<const uint8_t> stack = {};  // from rsp on
};

struct PerfMapping {
  int32_t pid = 0;
  uint64_t begin = 0, size = 0, offset = 0;
  std::vector<uint8_t> build_id;  // may be empty
  std::string path;
};

struct PerfComm {
  int32_t pid = 0, tid = 0;
  std::string name;
  bool is_exec = false;
};

struct PerfTask {
  int32_t pid = 0, parent_pid = 0, tid = 0, parent_tid = 0;
};

class PerfDecoder {
 public:
  // `file` outlives this.
  explicit PerfDecoder(const PerfFile& file);

  // 0 where the record has none.
  uint64_t time_of(const PerfRecord& record) const;

  // Nothing where the record is cut off.
  std::optional<PerfSample> sample(const PerfRecord& record) const;
  // Nothing also for data that is mapped.
  std::optional<PerfMapping> mapping(const PerfRecord& record) const;
  std::optional<PerfComm> comm(const PerfRecord& record) const;
  std::optional<PerfTask> task(const PerfRecord& record) const;
  std::optional<uint64_t> lost(const PerfRecord& record) const;

 private:
  size_t event_of(const PerfRecord& record) const;

  const PerfFile& file_;
  std::unordered_map<uint64_t, size_t> event_by_id_;
};

// The event that is imported of those that have samples, by name: `weight`, else the one with the most. Throws Error if there is
// no such event. `samples` is not empty.
std::string chosen_event(const std::map<std::string, uint64_t>& samples, const std::string& weight);
// "cycles:P" without what says how it was sampled: perf-list(1), "EVENT MODIFIERS".
std::string_view without_modifiers(std::string_view event);
// "cycles"; of events that have no name, what their attributes say: "event 4:0x1c2".
std::string event_name(const PerfEvent& event);

}  // namespace sampan::importers
