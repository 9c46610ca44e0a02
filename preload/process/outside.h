// Where the shim cannot be, or cannot reach the collector, the collector samples from outside instead, if the kernel permits
// that: in a root without the shim, and in another network namespace, because the socket of the session is in ours.
//
// Ordinary context. Freestanding: linked into the target.
#pragma once

#include "wire/control_block.h"

namespace sampan::preload {

// When the process has joined.
void remember_network();
// Whether a program that is executed here, or a child, could join the session: it is in the network namespace in which this
// process has joined, or can reach the collector all the same.
bool can_join_from_here();

// Asks the collector, by the memory that is shared with it, and waits for the answer: it comes when the collector reads the
// rings the next time, within a tenth of a second. True: it samples from outside from now on. `pid`: of a child,
// or 0: this process. Safe in a vfork child.
bool ask_for_engine(wire::Outside wanted, int pid);

}  // namespace sampan::preload
