#include "sampler/process/remote_walker.h"

#include <optional>

#include "base/error.h"
#include "sampler/process/blocked_memory.h"
#include "sampler/process/machine_code.h"
#include "unwind/cfi.h"
#include "unwind/stack_walk.h"

namespace sampan::sampler {
namespace {

// The assumed length of a function when nothing else tells; one without a frame is rarely longer.
constexpr uint64_t kLongestLeaf = 512;

// A walk that reaches the end of a copy says so.
unwind::WalkResult checked(unwind::WalkResult result, const RemoteMemory& memory) {
  const bool failed_read =
      result.stop == wire::StopReason::kBadAddress || result.stop == wire::StopReason::kNoRule;
  if (failed_read && memory.truncated()) result.stop = wire::StopReason::kNotCopied;
  return result;
}

}  // namespace

struct RemoteWalker::State {
  unwind::WalkCache cache;
  const ProcessModules& modules;
  uint64_t generation;  // of the modules, when `cache` was filled
  RemoteMemory code;

  void forget_stale_rows();
  bool leave_frameless_leaf(unwind::Registers& registers, RemoteMemory& stack);
  uint64_t called_by(uint64_t return_address, uint64_t pc);
};

void RemoteWalker::State::forget_stale_rows() {
  if (generation == modules.generation()) return;
  cache.rows.forget();
  generation = modules.generation();
}

// Leaf functions without unwind information and without a frame of their own, as Go and musl have
// them: the return address is on top of the stack, and rbp is the caller's. By rbp alone a walk
// would go from the leaf to its caller's caller.
//
// If `registers` are those of such a function, makes them its caller's, at the call, and returns
// true. The return address is either [rsp] or [rbp + 8]. The calls before these two addresses name
// functions that begin before the pc; the nearer one contains it.
bool RemoteWalker::State::leave_frameless_leaf(unwind::Registers& registers, RemoteMemory& stack) {
  const uint64_t pc = registers.value[unwind::kRip];
  const uint64_t sp = registers.value[unwind::kRsp];
  unwind::Module module;
  uint64_t fde = 0;
  if (!modules.find(pc, module) || find_fde(module, pc, fde) == unwind::CfiResult::kFound) {
    return false;
  }
  uint64_t on_top = 0;
  if (!stack.read(sp, on_top)) return false;
  const uint64_t start = called_by(on_top, pc);
  if (start == 0) return false;
  uint64_t above_frame = 0;
  uint64_t other = 0;
  if (stack.read(registers.value[unwind::kRbp] + 8, above_frame)) {
    other = called_by(above_frame, pc);
  }
  if (other >= start || (other == 0 && pc - start > kLongestLeaf)) return false;
  registers.value[unwind::kRip] = on_top - 1;
  registers.value[unwind::kRsp] = sp + 8;
  return true;
}

// The function that the call before `return_address` calls; 0: none, unknown, or after `pc`.
uint64_t RemoteWalker::State::called_by(uint64_t return_address, uint64_t pc) {
  unwind::Module module;
  if (!modules.find(return_address - 1, module)) return 0;
  const std::optional<CallBefore> call = call_before(code, return_address);
  return call && call->target <= pc ? call->target : 0;
}

RemoteWalker::RemoteWalker(const ProcessModules& modules)
    : state_(new State{{}, modules, modules.generation(), {}}) {
  if (!state_->cache.rows.start()) throw Error("no memory for the rows of a walker");
  state_->code.copy_stack(modules.pid(), 0, 0, true);
}

RemoteWalker::~RemoteWalker() {
  state_->cache.rows.stop();
}

unwind::WalkResult RemoteWalker::walk(unwind::Registers registers, RemoteMemory& memory,
                                      std::span<uint64_t> frames, uint64_t* cfas) {
  state_->forget_stale_rows();
  const uint64_t pc = registers.value[unwind::kRip];
  const bool left = state_->leave_frameless_leaf(registers, memory);
  if (left) frames[0] = pc;
  if (left && cfas != nullptr) *cfas++ = registers.value[unwind::kRsp];
  unwind::StackWalk<RemoteMemory, ProcessModules> walk(memory, state_->modules, state_->cache,
                                                       true);
  unwind::WalkResult result =
      walk.run(registers, frames.subspan(left ? 1 : 0), unwind::kAllRegisters, cfas);
  if (left) ++result.depth;
  return checked(result, memory);
}

unwind::WalkResult RemoteWalker::walk_blocked(Avma pc, Avma sp, RemoteMemory& memory,
                                              std::span<uint64_t> frames, uint64_t* cfas) {
  state_->forget_stale_rows();
  BlockedMemory blocked(memory, state_->modules, state_->cache);
  unwind::StackWalk<BlockedMemory, ProcessModules> walk(blocked, state_->modules, state_->cache,
                                                        true);
  unwind::Registers registers{};
  registers.value[unwind::kRip] = pc;
  registers.value[unwind::kRsp] = sp;
  constexpr unwind::RegisterSet kKnown =
      unwind::register_bit(unwind::kRip) | unwind::register_bit(unwind::kRsp);
  return checked(walk.run(registers, frames, kKnown, cfas), memory);
}

}  // namespace sampan::sampler
