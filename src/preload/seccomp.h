// A seccomp filter that the program installs, and what we may do from then on: nothing that it
// might not expect. The handler must know before, for the filter holds from its first instruction
// on.
//
// Freestanding: linked into the target.
#pragma once

#include "preload/process.h"

namespace sampan::preload {

// Runs `install`, which puts a filter in, or fails with a negative result.
template <typename F>
long while_filtering(F&& install) {
  const bool before = this_process.seccomp_filtered.exchange(true);
  const long result = install();
  if (result < 0) this_process.seccomp_filtered.store(before);
  return result;
}

// Runs `install`, which leaves the calling thread read, write, exit and sigreturn. Reading the
// clock is death too (the kernel takes its instruction away), so nothing of the process is recorded
// from here on.
template <typename F>
long while_becoming_strict(F&& install) {
  count_loss(wire::Loss::kThreadSeccomp);
  this_process.started.store(false);
  const long result = install();
  if (result < 0) this_process.started.store(true);
  return result;
}

}  // namespace sampan::preload
