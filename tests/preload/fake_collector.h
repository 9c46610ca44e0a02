// The collector's side of a session inside the test: runs a program with the shim and returns the
// records as they are in the rings.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "wire/control_block.h"
#include "wire/loss.h"
#include "wire/record.h"

namespace sampan::preload::test {

struct SampleRecord {
  uint64_t time_ns, cpu_ns;
  unsigned ticks;
  wire::StopReason stop;
  uint8_t flags;
  uint64_t left_out_ns = 0;
  std::vector<uint64_t> frames;  // leaf first
};

struct ThreadRecords {
  int32_t tid = 0;
  std::string first_name;
  uint64_t start_cpu_ns = 0;
  bool ended = false;
  uint64_t end_cpu_ns = 0;
  std::vector<SampleRecord> samples;

  // What the samples carry: the thread's CPU clock at the last of them.
  uint64_t sampled_cpu_ns() const {
    return samples.empty() ? 0 : samples.back().cpu_ns - start_cpu_ns;
  }
};

struct AllocationRecord {
  int32_t tid;
  uint64_t id, size, mean;
  wire::AllocationKind kind;
  wire::StopReason stop;
  std::vector<uint64_t> frames;  // leaf first
};
struct FreeRecord {
  int32_t tid;
  uint64_t id;
  wire::StopReason stop;
  std::vector<uint64_t> frames;
};

struct ModuleRecord {
  uint64_t bias, start, end;
  std::vector<uint8_t> build_id;
  std::string path;
};

// A record of a lane, its name looked up.
struct MarkerSeen {
  wire::MarkerType type;
  uint16_t flags;
  int32_t tid;
  std::string name, text;
  uint64_t value[5];
};

// One joined process (a forked child is another).
struct ProcessRecords {
  pid_t pid = 0;
  int32_t parent_pid = 0;
  bool forked = false;
  std::vector<ThreadRecords> threads;
  std::vector<AllocationRecord> allocations;
  std::vector<FreeRecord> frees;
  std::vector<uint64_t> late_frees;   // ids: those that found no room in a ring
  std::vector<ModuleRecord> modules;  // ever loaded
  unsigned unloads = 0;
  std::vector<std::pair<int32_t, std::string>> names;
  std::map<int32_t, uint64_t> thread_cpu;  // kThreadCpu
  std::vector<std::string> execs;
  unsigned failed_execs = 0;
  std::vector<int32_t> exits;
  unsigned goodbyes = 0;
  size_t exits_at_goodbye = 0;      // that it had told by then
  bool lived_at_goodbye = false;    // until it had the answer
  unsigned wishes = 0;              // wire::Outside
  std::vector<MarkerSeen> markers;  // lane after lane
  uint64_t markers_dropped = 0;
  uint64_t marker_holes = 0;
  uint32_t interned_names = 0;
  std::vector<uint64_t> open_spans;  // ids, at the end
  uint64_t losses[wire::kLossCount] = {};
  std::vector<uint32_t> clock_rates;                             // of the slots, at the end
  uint64_t handler_ns = 0, timer_signals = 0, perf_signals = 0;  // sums of the slots
  uint64_t corrupt = 0;

  const ThreadRecords* main_thread() const;
  size_t samples() const;
  uint64_t loss(wire::Loss which) const { return losses[static_cast<size_t>(which)]; }
};

struct RunResult {
  int status = 0;  // as of waitpid
  std::string output;
  std::vector<ProcessRecords> processes;
};

struct RunOptions {
  uint32_t rate_hz = 250;
  // Requested once a sample says that its thread has used later_ns of CPU; 0: never.
  uint32_t later_rate_hz = 0;
  uint64_t later_ns = 0;
  bool follow = true;
  bool shim = true;  // false: run without it, for comparison
  const char* library = SAMPAN_SHIM;
  uint64_t heap_mean = 0;
  bool waits_at_end = false;
  bool perf = true;                      // the shim may use perf events
  std::vector<std::string> environment;  // more of it
  std::optional<wire::Outside> outside =
      {};  // what is answered to wishes; nothing: they are not heard
};

RunResult run_with_shim(const std::vector<std::string>& command, const RunOptions& options = {});

}  // namespace sampan::preload::test
