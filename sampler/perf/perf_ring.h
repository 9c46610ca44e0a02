// The records of perf events as structs, in the layout that the attributes of perf_events.cpp ask
// for: perf_event_open(2), "MMAP layout". Every record ends with its pid, tid and time
// (sample_id_all), but for samples, which begin with them.
//
// A decode returns nothing for bytes that make no sense.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "unwind/registers.h"

namespace sampan::attach {

using PerfBytes = std::span<const uint8_t>;

// What the attributes must ask for.
inline constexpr uint64_t kPerfSampleType =
    PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
// In the order of the kernel's numbers (asm/perf_regs.h): ax bx cx dx si di bp sp ip, r8 to r15.
inline constexpr uint64_t kPerfRegisters = 0xff01ff;

struct PerfIdentity {
  uint32_t type;  // PERF_RECORD_*
  int32_t pid, tid;
  uint64_t time_ns;
};
std::optional<PerfIdentity> identify(PerfBytes record);

struct PerfSample {
  uint64_t value;  // of the event's clock; 0 without PERF_SAMPLE_READ
  bool user;       // there are registers and a stack: not of a thread that is about to be gone
  unwind::Registers registers;
  std::span<const std::byte> stack;  // from the stack pointer upwards
  bool larger;                       // the stack may go on where the copy ends
};
// `with_value`: the attributes ask for PERF_SAMPLE_READ too.
std::optional<PerfSample> decode_perf_sample(PerfBytes record, bool with_value);

struct PerfTask {  // FORK, EXIT
  int32_t pid, parent_pid;
  int32_t tid, parent_tid;
};
std::optional<PerfTask> decode_perf_task(PerfBytes record);

struct PerfComm {
  std::string name;
  bool exec;
};
std::optional<PerfComm> decode_perf_comm(PerfBytes record);

std::optional<uint64_t> decode_perf_lost(PerfBytes record);  // how many records

}  // namespace sampan::attach
