// A program that locks its memory pays for every page that is mapped, used or not: the rings of all threads that there could
// be, and RLIMIT_MEMLOCK may be smaller than they are. So it keeps those of few threads, and the markers' if it has marked.
#include <sys/mman.h>

#include "preload/markers/marker_functions.h"
#include "preload/process/process.h"
#include "preload/process/session.h"
#include "preload/support/interpose.h"
#include "preload/threads/threads.h"

SAMPAN_EXPORT int mlockall(int flags) noexcept {
  using namespace sampan::preload;
  if (active() && !in_vfork_child() &&
      !this_process.seccomp_filtered.load(std::memory_order_relaxed)) {
    const sampan::wire::MemoryShape before = mapped_shape();
    this_process.markers_mapped &= !stop_markers();
    keep_few_slots();
    unmap_shared(this_process.shared, this_process.shape, before, mapped_shape());
  }
  return SAMPAN_NEXT(mlockall)(flags);
}
