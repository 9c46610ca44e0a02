// Payloads of wire/record.h as structs. The payloads lie in memory that the target can write at any
// moment: the caller copies them first, and everything in them is checked here.
//
// Every decode returns nothing for a payload that makes no sense. Names and paths are cut at the
// first zero byte.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/byte_cursor.h"
#include "base/time.h"
#include "sampler/process/module_map.h"
#include "sampler/recorder/recorded_process.h"
#include "wire/loss.h"
#include "wire/record.h"

namespace sampan::sampler {

using Payload = std::span<const uint8_t>;

struct ThreadStartRecord {
  int32_t tid;
  MonotonicNs time_ns;
  CpuNs cpu_ns;
  std::string name;
};
struct ThreadEndRecord {
  MonotonicNs time_ns;
  CpuNs cpu_ns;  // 0: not known
  uint64_t left_out_ns = 0;
};
struct ThreadNameRecord {
  MonotonicNs time_ns;
  int32_t tid;
  std::string name;
};
struct ThreadCpuRecord {
  MonotonicNs time_ns;
  int32_t tid;
  CpuNs cpu_ns;
};
struct ExitRecord {
  MonotonicNs time_ns;
  int32_t status;
};

struct LockWaitRecord {
  MonotonicNs begin_ns, end_ns;  // in this order
  uint64_t limit_ns;             // not 0
  Avma lock;
  wire::LockKind kind;
  uint64_t first, last;  // numbers of releases meanwhile, in this order; 0: there was none
  wire::StopReason stop;
};
struct ReleaseRecord {
  MonotonicNs time_ns;
  uint64_t number;  // not 0
  Avma lock;
  wire::StopReason stop;
};
struct LockOriginRecord {
  MonotonicNs time_ns;
  Avma lock;
  wire::LockKind kind;
  Avma caller;
};

std::optional<ThreadStartRecord> decode_thread_start(Payload payload);
std::optional<ThreadEndRecord> decode_thread_end(Payload payload);
std::optional<ModuleLoadRecord> decode_module_load(Payload payload);
std::optional<ModuleUnloadRecord> decode_module_unload(Payload payload);
std::optional<ThreadNameRecord> decode_thread_name(Payload payload);
std::optional<ThreadCpuRecord> decode_thread_cpu(Payload payload);
std::optional<ExitRecord> decode_exit(Payload payload);
std::optional<LockOriginRecord> decode_lock_origin(Payload payload);

// Without their stacks.
struct AllocationRecord {
  MonotonicNs time_ns;
  uint64_t id;
  uint64_t size;
  uint64_t mean;  // never 0
  wire::AllocationKind kind;
  wire::StopReason stop;
};
struct FreeRecord {
  MonotonicNs time_ns;
  uint64_t id;
  wire::StopReason stop;
};

// The records with a stack of one slot: each may share the root side of its stack with the one before.
class SampleDecoder {
 public:
  // On success `stack()` is the record's. After a failure, records are refused up to the next one
  // that shares nothing, because the stack that they share is not known.
  std::optional<SampleRecord> decode(Payload payload);
  std::optional<AllocationRecord> decode_allocation(Payload payload);
  std::optional<FreeRecord> decode_free(Payload payload);
  std::optional<LockWaitRecord> decode_lock_wait(Payload payload);
  std::optional<ReleaseRecord> decode_release(Payload payload);
  // Another thread begins, or records were lost.
  void forget() {
    known_ = false;
    context_ = {};
  }

  // Lookup AVMAs, root first.
  const std::vector<uint64_t>& stack() const { return stack_; }
  // How many frames at the root side it shares with the one before.
  size_t shared() const { return shared_; }

 private:
  bool decode_stack(ByteCursor& cursor);
  bool decode_stop_and_stack(ByteCursor& cursor, wire::StopReason* stop);
  wire::TraceContext decode_context(ByteCursor& cursor, uint8_t flags);

  std::vector<uint64_t> stack_;
  size_t shared_ = 0;
  bool known_ = false;
  wire::TraceContext context_ = {};  // of the latest sample that had one; not set: not known
};

}  // namespace sampan::sampler
