#include "unwind/walker.h"

#include "unwind/stack_memory.h"
#include "unwind/stack_walk.h"

namespace sampan::unwind {

bool Walker::start() {
  modules_.start();
  return cache_.rows.start();
}

WalkResult Walker::walk(const Registers& registers, const StackBounds& stack,
                        std::span<uint64_t> frames) {
  StackMemory memory(stack);
  // Sequentially consistent, as begin_unload is: either this walk sees the unloading, or the caller
  // of begin_unload sees that the thread is walking.
  const bool may_read_modules = unloading_.load(std::memory_order_seq_cst) == 0;
  StackWalk<StackMemory, ModuleFinder> walk(memory, modules_, cache_, may_read_modules);
  return walk.run(registers, frames);
}

void Walker::begin_unload() {
  unloading_.fetch_add(1, std::memory_order_seq_cst);
}

void Walker::end_unload() {
  modules_.refresh();
  cache_.rows.forget();
  unloading_.fetch_sub(1, std::memory_order_seq_cst);
}

void Walker::modules_loaded() {
  modules_.refresh();
}

}  // namespace sampan::unwind
