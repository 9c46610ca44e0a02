#include "sampler/process/remote_walker.h"

#include "base/error.h"
#include "sampler/process/blocked_memory.h"
#include "unwind/stack_walk.h"

namespace sampan::sampler {
namespace {

// A walk that reaches the end of a copy says so.
unwind::WalkResult checked(unwind::WalkResult result, const RemoteMemory& memory) {
  const bool failed_read =
      result.stop == wire::StopReason::kBadAddress || result.stop == wire::StopReason::kNoRule;
  if (failed_read && memory.truncated()) result.stop = wire::StopReason::kNotCopied;
  return result;
}

// A stack, and the code of its process, which a copy of the stack does not have.
class StackAndCode {
 public:
  StackAndCode(RemoteMemory& stack, RemoteMemory& code) : stack_(stack), code_(code) {}

  // The concept of unwind/stack_walk.h.
  bool covers(uint64_t low, uint64_t high) const { return stack_.covers(low, high); }
  uint64_t load(uint64_t avma) const { return stack_.load(avma); }
  bool read(uint64_t avma, uint64_t& value) { return stack_.read(avma, value); }
  bool read_code(uint64_t avma, uint64_t& value) { return code_.read(avma, value); }
  static constexpr bool may_read_code() { return true; }
  bool readable(uint64_t avma) { return stack_.readable(avma); }

 private:
  RemoteMemory& stack_;
  RemoteMemory& code_;
};

}  // namespace

struct RemoteWalker::State {
  unwind::WalkCache cache;
  const ProcessModules& modules;
  uint64_t generation;  // of the modules, when `cache` was filled
  RemoteMemory code;

  void forget_stale_rows();
};

void RemoteWalker::State::forget_stale_rows() {
  if (generation == modules.generation()) return;
  cache.rows.forget();
  generation = modules.generation();
}

RemoteWalker::RemoteWalker(const ProcessModules& modules)
    : state_(new State{{}, modules, modules.generation(), {}}) {
  if (!state_->cache.rows.start()) throw Error("no memory for the rows of a walker");
  state_->code.copy_stack(modules.pid(), 0, 0, true);
}

RemoteWalker::~RemoteWalker() {
  state_->cache.rows.stop();
}

unwind::WalkResult RemoteWalker::walk(const unwind::Registers& registers, RemoteMemory& memory,
                                      std::span<uint64_t> frames, uint64_t* cfas) {
  state_->forget_stale_rows();
  state_->code.forget_elsewhere();
  StackAndCode both(memory, state_->code);
  unwind::StackWalk<StackAndCode, ProcessModules> walk(both, state_->modules, state_->cache, true);
  return checked(walk.run(registers, frames, nullptr, unwind::kAllRegisters, cfas), memory);
}

unwind::WalkResult RemoteWalker::walk_blocked(Avma pc, Avma sp, RemoteMemory& memory,
                                              std::span<uint64_t> frames, uint64_t* cfas) {
  state_->forget_stale_rows();
  BlockedMemory blocked(memory, state_->modules, state_->cache);
  unwind::StackWalk<BlockedMemory, ProcessModules> walk(blocked, state_->modules, state_->cache,
                                                        true);
  unwind::Registers registers{};
  registers.value[unwind::kPc] = pc;
  registers.value[unwind::kSp] = sp;
  constexpr unwind::RegisterSet kKnown =
      unwind::register_bit(unwind::kPc) | unwind::register_bit(unwind::kSp);
  return checked(walk.run(registers, frames, nullptr, kKnown, cfas), memory);
}

uint32_t RemoteWalker::take_overruled() {
  return state_->cache.take_overruled();
}

}  // namespace sampan::sampler
