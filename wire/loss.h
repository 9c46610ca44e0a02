// Why something that should be in a recording is missing: samples and other records (Loss), or the
// rest of a stack (StopReason). Counted where it happens, kept in the recording, shown in every
// report.
//
// Freestanding: linked into the target. Values are part of the recording format: append only.
#pragma once

#include <cstdint>

namespace sampan::wire {

enum class Loss : uint8_t {
  kRingFull = 0,            // samples dropped: the collector was late
  kRingCorrupt = 1,         // records that the collector could not read
  kThreadNoSlot = 2,        // threads unsampled: all slots of the process in use
  kThreadNoTimer = 3,       // threads unsampled: timer_create refused (RLIMIT_SIGPENDING)
  kThreadSeccomp = 4,       // threads unsampled: under a seccomp filter
  kProcessNotJoined = 5,    // child processes that could not join the session
  kModuleRecord = 6,        // module changes that did not fit into the process ring
  kNameRecord = 7,          // thread names that did not fit into the process ring
  kPerfRefused = 8,         // threads above HZ without perf_event: sampled at the kernel's tick
  kHandlerBusy = 9,         // signals that came while the same thread was writing a record
  kProcessStatic = 10,      // executed images that cannot be preloaded (static, musl)
  kProcessSetuid = 11,      // executed images where the loader drops LD_PRELOAD (setuid)
  kEngineRingFull = 12,     // samples dropped by the kernel: sampan was late (perf)
  kThreadNotAttached = 13,  // threads unsampled: the kernel did not let the engine at them
  kMarkerFull = 14,         // markers dropped: their lane was full
  kMarkerNoThread = 15,     // markers of threads without a slot
  kMarkerDeep = 16,         // spans inside more than kMaxOpenSpans others
  kMarkerUnmatched = 17,    // ends without a begin, stops without a start
  kMarkerCounter = 18,      // values of counters: too many different names, NaN
  kMarkerHole = 19,         // markers that were never completed
  kPythonUnknown = 20,      // processes whose Python sampan does not know: native stacks only
  kThreadSignal = 21,       // threads unsampled: the program took the signal by a system call
  kThreadDispatch = 22,     // threads unsampled: their system calls are dispatched to the program
  kProcessNoShim = 23,      // executed images that cannot open the shim: it is outside their root
  kTableOverruled = 24,     // rules of unwind tables that the code contradicts: the code counted
  kAllocationLost = 25,     // sampled allocations that were not recorded
  kFreeLost = 26,  // frees of recorded allocations that were not recorded: the blocks seem to live
  kAllocatorUnseen = 27,  // processes whose allocator cannot be interposed
  kLockWaitLost = 28,     // waits for locks, or releases that ended them, that were not recorded
  kTraceUnread = 29,      // samples whose trace context was announced and could not be read
  kTraceKey = 30,         // processes without the key of SAMPAN_TRACE_KEY_FILE
  kFreeUnseen =
      31,  // frees of recorded allocations that passed no wrapper, noticed when the memory was taken again
};
inline constexpr unsigned kLossCount = 32;

// "threads unsampled: ..." for people; never null.
const char* loss_text(Loss loss);
// "ring_full": the key in JSON; never null.
const char* loss_key(Loss loss);

// Why the walk of a stack ended.
enum class StopReason : uint8_t {
  kRoot = 0,        // complete: the thread's first frame was reached
  kNoRule = 1,      // no unwind information for a pc, and no usable frame pointer
  kBadAddress = 2,  // a stack slot outside the thread's stack, or not readable
  kDepthLimit = 3,  // deeper than kDeepestStack, or more work than one walk may do
  kBadCfi = 4,      // unwind information that is damaged or unknown to the walker
  kUnloading = 5,   // a module was being unloaded: only cached rules could be used
  kNoProgress = 6,  // the next frame would not be above this one: a loop
  kNotCopied = 7,   // the rest of the stack was not copied (perf copies 64 KB at most)
  kPythonTorn = 8,  // complete, but without Python's frames: the interpreter was just linking one
  kPythonLate = 9,  // the same: the thread had run on before they were read (perf)
  kNoCall = 10,     // no unwind information, and rbp leads to what is no return address
};
inline constexpr unsigned kStopReasonCount = 11;

// "no unwind information": for people; never null.
const char* stop_reason_text(StopReason reason);

}  // namespace sampan::wire
