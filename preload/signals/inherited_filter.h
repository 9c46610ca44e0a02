// A seccomp filter that the process was born with: of a container, of a service, of a parent that has
// put it in unseen. It cannot be read, so a child tries what the shim needs.
//
// Freestanding: linked into the target.
#pragma once

namespace sampan::preload {

enum class Inherited {
  kNothing,         // there is no filter
  kAllowsAll,       // but perf_event_open: many filters forbid it, and some kill for it
  kForbidsSamples,  // a signal or its return: a session can be joined, but no clock may be armed
  kForbidsJoining,
};
// At start-up, before anything else makes a system call that programs do not make when they begin.
Inherited inherited_filter();

}  // namespace sampan::preload
