#include "attach/remote_walker.h"

#include "attach/blocked_memory.h"
#include "base/error.h"
#include "unwind/stack_walk.h"

namespace sampan::attach {

struct RemoteWalker::State {
  unwind::WalkCache cache;
  const ProcessModules& modules;
  uint64_t generation;  // of the modules, when `cache` was filled

  void forget_stale_rows() {
    if (generation == modules.generation()) return;
    cache.rows.forget();
    generation = modules.generation();
  }
};

namespace {

// A walk that came to the end of a copy says so.
unwind::WalkResult checked(unwind::WalkResult result, const RemoteMemory& memory) {
  const bool failed_read =
      result.stop == wire::StopReason::kBadAddress || result.stop == wire::StopReason::kNoRule;
  if (failed_read && memory.truncated()) result.stop = wire::StopReason::kNotCopied;
  return result;
}

}  // namespace

RemoteWalker::RemoteWalker(const ProcessModules& modules)
    : state_(new State{{}, modules, modules.generation()}) {
  if (!state_->cache.rows.start()) throw Error("no memory for the rows of a walker");
}

RemoteWalker::~RemoteWalker() {
  state_->cache.rows.stop();
}

unwind::WalkResult RemoteWalker::walk(const unwind::Registers& registers, RemoteMemory& memory,
                                      std::span<uint64_t> frames) {
  state_->forget_stale_rows();
  unwind::StackWalk<RemoteMemory, ProcessModules> walk(memory, state_->modules, state_->cache,
                                                       true);
  return checked(walk.run(registers, frames), memory);
}

unwind::WalkResult RemoteWalker::walk_blocked(uint64_t pc, uint64_t sp, RemoteMemory& memory,
                                              std::span<uint64_t> frames) {
  state_->forget_stale_rows();
  BlockedMemory blocked(memory, state_->modules, state_->cache);
  unwind::StackWalk<BlockedMemory, ProcessModules> walk(blocked, state_->modules, state_->cache,
                                                        true);
  unwind::Registers registers{};
  registers.value[unwind::kRip] = pc;
  registers.value[unwind::kRsp] = sp;
  constexpr unwind::RegisterSet kKnown =
      unwind::register_bit(unwind::kRip) | unwind::register_bit(unwind::kRsp);
  return checked(walk.run(registers, frames, kKnown), memory);
}

}  // namespace sampan::attach
