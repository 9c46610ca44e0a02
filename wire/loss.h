// Why something that should be in a recording is not. Counted where it happens, carried through
// the recording, shown in every report.
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
  kThreadSeccomp = 4,       // threads unsampled: they began after a seccomp filter went in
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
};
inline constexpr unsigned kLossCount = 20;

// "threads unsampled: ..." for people; never null.
const char* loss_text(Loss loss);
// "ring_full": the key in JSON; never null.
const char* loss_key(Loss loss);

}  // namespace sampan::wire
