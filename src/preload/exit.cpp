#include "preload/exit.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/byte_writer.h"
#include "base/clock.h"
#include "preload/interpose.h"
#include "preload/modules.h"
#include "preload/process.h"
#include "preload/process_ring.h"
#include "preload/scan.h"
#include "preload/threads.h"

namespace sampan::preload {
namespace {

// The CPU of a thread that is alive: what the reports set its samples beside.
void write_cpu(const ThreadState& thread) {
  uint8_t buffer[sizeof(int32_t) + sizeof(uint64_t)];
  ByteWriter fields(buffer);
  fields.fixed(thread.tid);
  fields.fixed(read_clock_ns(thread_cpu_clock(thread.tid)));
  write_process_record(wire::RecordType::kThreadCpu, fields.written(), {}, wire::Loss::kNameRecord);
}

void before_exit(int status) {
  if (!active()) return;
  const bool filtered = this_process.seccomp_filtered.load(std::memory_order_relaxed);
  if (!filtered && in_vfork_child()) return;
  record_live_threads();
  uint8_t buffer[sizeof status];
  ByteWriter fields(buffer);
  fields.fixed(int32_t{status});
  write_process_record(wire::RecordType::kExit, fields.written(), {}, wire::Loss::kNameRecord);
}

}  // namespace

void record_live_threads() {
  if (this_process.seccomp_filtered.load(std::memory_order_relaxed)) return;
  scan_threads();
  for_each_thread(write_cpu);
}

// Registered before the program's own handlers, and so called after them.
void start_exit() {
  on_exit(
      [](int status, void*) {
        // What glibc has loaded for itself. Not in _exit: a thread that is busy loading may have
        // the loader's lock for ever.
        if (active() && !this_process.loader_may_be_locked) renew_modules();
        before_exit(status);
      },
      nullptr);
}

}  // namespace sampan::preload

SAMPAN_EXPORT void quick_exit(int status) noexcept {
  sampan::preload::before_exit(status);
  SAMPAN_NEXT(quick_exit)(status);
  __builtin_unreachable();
}

SAMPAN_EXPORT void _exit(int status) {
  sampan::preload::before_exit(status);
  SAMPAN_NEXT(_exit)(status);
  __builtin_unreachable();
}

SAMPAN_EXPORT void _Exit(int status) noexcept {
  sampan::preload::before_exit(status);
  SAMPAN_NEXT(_exit)(status);
  __builtin_unreachable();
}
