// Whether samples are taken now: not while sampling is paused (ControlBlock::paused), and with
// --sections-only only while a section is open. Each change is for all threads, or, of sections of
// one thread, for the calling one.
//
// Clocks tick on while sampling is off. What a thread uses between two ticks is taken for what the
// later one finds: right on average, and exact but for a tick at each end of a pause.
//
// May be called by any thread and in signal handlers: no lock, no allocation.
//
// Freestanding: linked into the target.
#pragma once

#include <cstdint>

namespace sampan::preload {

struct ThreadState;

void pause_sampling();
void resume_sampling();
bool sampling_paused();

// A section was started or stopped by the program; stops are matched with starts by the caller.
void section_started(bool calling_thread_only);
void section_stopped(bool calling_thread_only);
// In a forked child no section is open: those of its parent are the parent's.
void sections_closed_by_fork(ThreadState* survivor);

// Whether the thread is to be sampled now.
bool sampling_on(const ThreadState& thread);
// What the thread has used since its last tick belongs to no sample. `cpu_ns`: what its clock says
// now; 0: not known, then it is `ticks` periods.
void leave_out(ThreadState& thread, uint64_t cpu_ns, uint16_t ticks);

}  // namespace sampan::preload
