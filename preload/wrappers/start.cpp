#include "preload/process/process.h"
#include "preload/threads/threads.h"
#include "preload/wrappers/allocator.h"
#include "preload/wrappers/heap_records.h"
#include "preload/wrappers/heap_sampler.h"
#include "preload/wrappers/lock_waits.h"
#include "preload/wrappers/operators.h"
#include "wire/control_block.h"
#include "wire/loss.h"

namespace sampan::preload {

void start_wrappers() {
  start_allocator();
  start_operators();
  const bool unseen = allocator_is_unseen();
  const bool joined = this_process.started.load(std::memory_order_acquire);
  const bool records = joined && start_heap_records();
  start_heap_sampler(records);
  if (joined && (unseen || !records) &&
      wire::control_block(this_process.shared)->heap_mean.load(std::memory_order_relaxed) != 0) {
    count_loss(wire::Loss::kAllocatorUnseen);
  }
  start_lock_functions();
}

}  // namespace sampan::preload
