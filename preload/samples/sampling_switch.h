// Whether samples are taken now. None are while sampling is paused (ControlBlock::paused); with
// --sections-only they are taken only while a section is open. A change is for all threads, or, by
// a section of one thread, for that thread.
//
// Clocks tick on while sampling is off. The CPU time between two ticks is treated as the later tick
// finds it: right on average, and exact but for one tick at each end of a pause.
//
// Async-signal-safe; for any thread. Freestanding: linked into the target.
#pragma once

#include <cstdint>

#include "preload/samples/sample.h"

namespace sampan::preload {

void pause_sampling();
void resume_sampling();
bool sampling_paused();

// The program has started or stopped a section: of `thread`, or of all threads (null). The caller
// matches stops with starts.
void section_started(SampleState* thread);
void section_stopped(SampleState* thread);
// In a forked child no section is open: its parent's sections stay the parent's. `survivor` may be
// null.
void sections_closed_by_fork(SampleState* survivor);

// Whether the thread is to be sampled now.
bool sampling_on(const SampleState& thread);
// The CPU that the thread has used since its last tick belongs to no sample. `cpu_ns`: its CPU
// clock now; 0: unknown, and `estimate_ns` has been used.
void leave_out(SampleState& thread, uint64_t cpu_ns, uint64_t estimate_ns);

}  // namespace sampan::preload
