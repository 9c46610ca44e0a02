// Walks the stack of the calling process from a set of registers, by .eh_frame. It runs inside the
// target's signal handler: no allocation, no lock, no errno, no call into the loader except
// `_dl_find_object`, and at most 1.4 KB of stack. See docs/unwinding.md.
//
// Freestanding: linked into the target.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "unwind/cfi.h"
#include "unwind/image.h"
#include "unwind/last_walk.h"
#include "unwind/module_finder.h"
#include "unwind/recent_table.h"
#include "unwind/registers.h"
#include "unwind/row_cache.h"
#include "wire/loss.h"

namespace sampan::unwind {

// The memory that a walk may read without asking: [low, high) of the thread's stack. Elsewhere each
// page is probed first (`may_probe`: a system call, forbidden under seccomp).
struct StackBounds {
  uint64_t low;
  uint64_t high;
  bool may_probe;
};

// What walks share: the rows of the pcs that they met, and the modules and CIEs that rows are made
// from. All of it is stale when the generation of the rows has changed.
struct WalkCache {
  RowCache rows;
  std::atomic<uint32_t> overruled = 0;  // rules of tables, by the code, since they were last taken
  RecentTable<Module, 64, 21> modules;  // by the two megabytes of code that a pc is in
  RecentCies cies;                      // by AVMA

  uint32_t take_overruled() {
    return overruled.load(std::memory_order_relaxed) == 0 ? 0 : overruled.exchange(0);
  }
};

struct WalkResult {
  uint32_t depth;  // frames written
  wire::StopReason stop;
};

// Whether the page at this AVMA, which is not 0, can be read: a system call. Async-signal-safe.
bool is_mapped(uint64_t page);

class Walker {
 public:
  // Maps the cache of unwind rows (256 KB). Ordinary context, once, before the first walk. False
  // when there is no memory. `find_object`: of the loader, if it has it.
  bool start(FindObject* find_object);

  // Writes the lookup AVMAs of the frames, leaf first, at most `frames.size()` of them.
  // Async-signal-safe; any number of threads at once. `last`: null, or of the same thread. `cfas`: null,
  // or room for the CFA of each of the frames.
  WalkResult walk(const Registers& registers, const StackBounds& stack, std::span<uint64_t> frames,
                  LastWalk* last = nullptr, uint64_t* cfas = nullptr);

  // How many rules of tables the code has overruled since the last call. Async-signal-safe.
  uint32_t take_overruled() { return cache_.take_overruled(); }

  // Around everything that may unmap a module (dlclose). Between the two, walks that begin use only
  // cached rows and never read a module. `begin_unload` does not wait for walks under way: its caller
  // knows the threads and does (preload/modules/). Nests.
  void begin_unload();
  bool unloading() const { return unloading_.load(std::memory_order_seq_cst) != 0; }
  // Also forgets all cached rows: another module may be mapped at the same place.
  void end_unload();
  // In a forked child: so many unloadings were of threads that do not exist here.
  void after_fork(uint32_t unloadings);
  // After dlopen: renews the module snapshot.
  void modules_loaded();

 private:
  WalkCache cache_;
  ModuleFinder modules_;
  std::atomic<uint32_t> unloading_ = 0;
};

}  // namespace sampan::unwind
