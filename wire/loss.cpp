#include "wire/loss.h"

namespace sampan::wire {

const char* loss_text(Loss loss) {
  switch (loss) {
    case Loss::kRingFull: return "samples dropped, ring full";
    case Loss::kRingCorrupt: return "records unreadable";
    case Loss::kThreadNoSlot: return "threads unsampled, too many at once";
    case Loss::kThreadNoTimer: return "threads unsampled, timer refused (see ulimit -i)";
    case Loss::kThreadSeccomp: return "threads unsampled, under a seccomp filter";
    case Loss::kProcessNotJoined: return "child processes that could not join";
    case Loss::kModuleRecord: return "module changes not recorded";
    case Loss::kNameRecord: return "thread names not recorded";
    case Loss::kPerfRefused: return "threads at the kernel tick, perf_event refused";
    case Loss::kHandlerBusy: return "signals merged into the next sample";
    case Loss::kProcessStatic: return "processes not sampled, static, of 32 bits or not of glibc";
    case Loss::kProcessSetuid: return "processes not sampled, setuid";
    case Loss::kEngineRingFull: return "samples dropped by the kernel, sampan was late";
    case Loss::kThreadNotAttached: return "threads unsampled, the kernel refused";
    case Loss::kMarkerFull: return "markers dropped, lane full";
    case Loss::kMarkerNoThread: return "markers dropped, of threads that are not sampled";
    case Loss::kMarkerDeep: return "spans dropped, nested too deep";
    case Loss::kMarkerUnmatched: return "ends of spans or sections without a beginning";
    case Loss::kMarkerCounter: return "counter values dropped, too many counters or no number";
    case Loss::kMarkerHole: return "markers never completed";
    case Loss::kPythonUnknown: return "processes with native stacks only, unknown Python";
    case Loss::kThreadSignal: return "threads unsampled, the program took their signal";
    case Loss::kThreadDispatch: return "threads unsampled, they handle system calls themselves";
    case Loss::kProcessNoShim: return "processes not sampled, the shim is not in their file system";
    case Loss::kTableOverruled:
      return "rules of wrong unwind tables replaced by what the code does";
    case Loss::kAllocationLost: return "sampled allocations not recorded";
    case Loss::kFreeLost: return "frees not recorded, their blocks seem to live on";
    case Loss::kAllocatorUnseen: return "processes whose allocator is out of reach";
    case Loss::kLockWaitLost: return "waits for locks, or their ends, not recorded";
    case Loss::kTraceUnread: return "samples whose trace context could not be read";
    case Loss::kTraceKey:
      return "processes that profile no requests, their SAMPAN_TRACE_KEY_FILE holds no key";
    case Loss::kFreeUnseen: return "frees that passed sampan by, so what lives is not known";
  }
  return "unknown loss";
}

const char* loss_key(Loss loss) {
  switch (loss) {
    case Loss::kRingFull: return "ring_full";
    case Loss::kRingCorrupt: return "ring_corrupt";
    case Loss::kThreadNoSlot: return "thread_no_slot";
    case Loss::kThreadNoTimer: return "thread_no_timer";
    case Loss::kThreadSeccomp: return "thread_seccomp";
    case Loss::kProcessNotJoined: return "process_not_joined";
    case Loss::kModuleRecord: return "module_record";
    case Loss::kNameRecord: return "name_record";
    case Loss::kPerfRefused: return "perf_refused";
    case Loss::kHandlerBusy: return "handler_busy";
    case Loss::kProcessStatic: return "process_static";
    case Loss::kProcessSetuid: return "process_setuid";
    case Loss::kEngineRingFull: return "engine_ring_full";
    case Loss::kThreadNotAttached: return "thread_not_attached";
    case Loss::kMarkerFull: return "marker_full";
    case Loss::kMarkerNoThread: return "marker_no_thread";
    case Loss::kMarkerDeep: return "marker_deep";
    case Loss::kMarkerUnmatched: return "marker_unmatched";
    case Loss::kMarkerCounter: return "marker_counter";
    case Loss::kMarkerHole: return "marker_hole";
    case Loss::kPythonUnknown: return "python_unknown";
    case Loss::kThreadSignal: return "thread_signal";
    case Loss::kThreadDispatch: return "thread_dispatch";
    case Loss::kProcessNoShim: return "process_no_shim";
    case Loss::kTableOverruled: return "table_overruled";
    case Loss::kAllocationLost: return "allocation_lost";
    case Loss::kFreeLost: return "free_lost";
    case Loss::kAllocatorUnseen: return "allocator_unseen";
    case Loss::kLockWaitLost: return "lock_wait_lost";
    case Loss::kTraceUnread: return "trace_unread";
    case Loss::kTraceKey: return "trace_key";
    case Loss::kFreeUnseen: return "free_unseen";
  }
  return "unknown";
}

const char* stop_reason_text(StopReason reason) {
  switch (reason) {
    case StopReason::kRoot: return "complete";
    case StopReason::kNoRule: return "no unwind information";
    case StopReason::kBadAddress: return "address off the stack";
    case StopReason::kDepthLimit: return "depth limit";
    case StopReason::kBadCfi: return "damaged unwind information";
    case StopReason::kUnloading: return "module being unloaded";
    case StopReason::kNoProgress: return "no progress";
    case StopReason::kNotCopied: return "stack larger than the copy";
    case StopReason::kPythonTorn: return "Python frames being linked";
    case StopReason::kPythonLate: return "Python frames read too late";
    case StopReason::kNoCall: return "no unwind information, and no frame pointer";
  }
  return "unknown reason";
}

}  // namespace sampan::wire
