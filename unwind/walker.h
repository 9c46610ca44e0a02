// Walks the stack of the calling process from a set of registers, by .eh_frame. This is what runs
// inside the target's signal handler: no allocation, no lock, no errno, no call into the loader
// but `_dl_find_object`, and no more than 1.4 KB of stack. See docs/unwinding.md.
//
// Freestanding: linked into the target.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "unwind/module_finder.h"
#include "unwind/registers.h"
#include "unwind/walk_cache.h"
#include "wire/stop_reason.h"

namespace sampan::unwind {

// The memory that a walk may read without asking: [low, high) of the thread's stack. Elsewhere each
// page is probed first (`may_probe`: a system call, forbidden under seccomp).
struct StackBounds {
  uint64_t low;
  uint64_t high;
  bool may_probe;
};

struct WalkResult {
  uint32_t depth;  // frames written
  wire::StopReason stop;
};

class Walker {
 public:
  // Maps the cache of unwind rows (256 KB). Ordinary context, once, before the first walk. False
  // when there is no memory.
  bool start();

  // Writes the lookup AVMAs of the frames, leaf first, at most `frames.size()` of them.
  // Async-signal-safe; any number of threads at once. What `frames` holds before is taken as a
  // hint: it is best an earlier stack of the same thread.
  WalkResult walk(const Registers& registers, const StackBounds& stack, std::span<uint64_t> frames);

  // Around everything that may unmap a module (dlclose). Between the two, walks that begin use only
  // cached rows and never read a module. `begin_unload` does not wait for walks under way: the
  // caller, who knows the threads, does (preload/modules.h). Nests.
  void begin_unload();
  // Also forgets all cached rows: another module may be mapped at the same place.
  void end_unload();
  // After dlopen: renews the module snapshot where the C library has no `_dl_find_object`.
  void modules_loaded();

 private:
  WalkCache cache_;
  ModuleFinder modules_;
  std::atomic<uint32_t> unloading_ = 0;
};

}  // namespace sampan::unwind
