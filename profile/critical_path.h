// The critical path: what the time of a thread, a span or a section was spent on, over all threads that it waited for.
//
// The walk begins at the end of the interval and goes back to its begin. It stays on a thread until it meets the end
// of a recorded wait for a lock (Profile::lock_waits), and goes on in the thread that ended the wait, at the time when
// that one did. This is the path of program activity graphs (Yang and Miller, "Critical path analysis for the
// execution of parallel and distributed programs", 1988): to make anything on it faster makes the interval shorter.
// Each moment of the interval is on the path once, so the rows add up to it.
//
// Time on a thread is told by its samples, each of which stands for the time before it that it weighs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/profile.h"
#include "profile/view.h"

namespace sampan::profile {

enum class PathPart : uint8_t {
  kCpu,        // samples on CPU in `function`, the innermost of the stack
  kWait,       // waiting samples: `object` is into Profile::waits
  kUnsampled,  // no sample stands for it: off CPU where waits are not sampled, or shorter than a sample
  kWoken,  // a wait for a lock had been ended, and the thread did not run yet; `object` is into Profile::locks
  kNotKnown,  // a wait for a lock whose end nobody is known for, such as a timeout; the same
};

struct PathRow {
  uint32_t thread = kNone;
  PathPart part = PathPart::kCpu;
  uint32_t function = kNone;
  uint32_t object = kNone;
  uint64_t ns = 0;
};

// How often the path went from a thread to the one that had let it wait.
struct PathHandover {
  uint32_t waiter = kNone, waker = kNone;  // threads
  uint32_t lock = kNone;
  uint64_t count = 0;
};

struct CriticalPath {
  uint64_t intervals = 0;
  uint64_t total_ns = 0;                     // of all intervals; the rows' sum
  std::vector<PathRow> rows = {};            // most time first
  std::vector<PathHandover> handovers = {};  // most often first
};

// `what`: a thread by its name or tid, from its begin to its end; else spans with this name, on the threads that ended
// them; else sections with this name, on their threads, or the main threads of their processes. Only what is in the
// view's time. Throws Error when there is no such thing, or no waits for locks were recorded.
CriticalPath critical_path(const View& view, const std::string& what);

}  // namespace sampan::profile
