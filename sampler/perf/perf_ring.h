// The ring into which the kernel writes the records of perf events, and the records as structs
// (perf_event_open(2), "MMAP layout").
//
// Positions, lengths and records are checked. When a position makes no sense, the content of the
// ring is dropped, and that is counted; a decode returns nothing for bytes that make no sense.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "unwind/registers.h"

namespace sampan::sampler {

// The bytes of a record: the header, then what the decoders below take apart.
using PerfBytes = std::span<const uint8_t>;

// A control page, then the data, whose size is a power of two. The kernel publishes `data_head`
// after the bytes before it. It may overwrite what lies before `data_tail`, which is ours.
class PerfRing {
 public:
  PerfRing(perf_event_mmap_page* control, std::span<const uint8_t> data)
      : control_(control), data_(data) {}

  // The end of what has been written so far; `peek` reads no further than the limit it is given.
  uint64_t head() const;
  // The next record before `limit`; empty when there is none. Stays readable until `pop`.
  PerfBytes peek(uint64_t limit);
  // Gives the record of the last `peek` back to the kernel.
  void pop();
  // The position of the next record.
  uint64_t position() const { return position_; }
  // The record at a position that was not given back yet, and may be after others; empty when there is
  // none, or it makes no sense. `wrapped` is the memory of a record that goes over the end of the ring.
  PerfBytes at(uint64_t position, uint64_t limit, std::vector<uint8_t>& wrapped) const;
  size_t size() const { return data_.size(); }

  // How often the content was dropped since the last call.
  uint64_t take_corrupt() { return std::exchange(corrupt_, 0); }

 private:
  void release(uint64_t position);

  perf_event_mmap_page* control_;
  std::span<const uint8_t> data_;
  uint64_t position_ = 0;  // our own copy of data_tail
  PerfBytes current_;
  std::vector<uint8_t> wrapped_;  // a record that goes over the end of the ring, in one piece
  uint64_t corrupt_ = 0;
};

// What the attributes must ask for.
inline constexpr uint64_t kPerfSampleType =
    PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
// All that a walk follows.
inline constexpr uint64_t kPerfRegisters = [] {
  uint64_t mask = 0;
  for (const uint8_t number : unwind::kPerfNumbers) mask |= uint64_t{1} << number;
  return mask;
}();

// The layout is the one that the attributes of perf_events.cpp ask for: every record ends with its
// pid, tid and time (sample_id_all); samples begin with them.
struct PerfIdentity {
  uint32_t type;  // PERF_RECORD_*
  int32_t pid, tid;
  MonotonicNs time_ns;
};
std::optional<PerfIdentity> identify(PerfBytes record);

struct PerfSample {
  uint64_t value;  // of the event's clock; 0 without PERF_SAMPLE_READ
  bool in_kernel;  // the thread was in it: in a system call, say
  bool user;       // it has registers and a stack; not that of a thread that is about to end
  unwind::Registers registers;
  std::span<const std::byte> stack;  // from the stack pointer upwards
  bool larger;                       // the stack may be larger than the copy
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

// A thread comes to a CPU, or leaves it: because it waits for something, or because another is to run.
enum class PerfSwitch : uint8_t { kIn, kWaits, kPreempted };
std::optional<PerfSwitch> decode_perf_switch(PerfBytes record);

}  // namespace sampan::sampler
