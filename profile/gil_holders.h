// Python's global lock (the GIL): what the thread that holds it does while another waits for it.
#pragma once

#include "profile/profile.h"
#include "recording/reader.h"

namespace sampan::profile {

// Enters in which Python function the holder was (Wait::held_in), and the holder's name as the
// profile has it, where a wait says "held by thread TID NAME".
//
// The function is that of the holder's first sample on CPU in the time of the waiting one; where
// there is none, it is not known. A later sample would not do, although its CPU may cover the wait:
// who waits goes on when the holder lets go of the lock, as it does before it compresses, and the
// holder's next sample would be where it does not hold it.
//
// A thread that waits for itself has let go of the lock, and nobody has taken it yet.
//
// A wait is seen again every 5 ms, as often as CPython asks for the lock, so one function for each
// waiting sample is enough. The stacks of the samples are still rows of the recording.
void name_gil_holders(const recording::Recording& from, Profile* profile);

}  // namespace sampan::profile
