#include "attach/blocked_memory.h"

#include "attach/return_address.h"
#include "unwind/cfi.h"
#include "unwind/eh_frame_hdr.h"

namespace sampan::attach {
namespace {

using unwind::kRbp;
using unwind::kRip;
using unwind::kRsp;

// How far above the stack pointer a frame may end: nearly all are smaller by far.
constexpr uint64_t kLargestFrame = uint64_t{64} << 10;
// Where a function begins is not known without unwind information: this far before the pc, at most.
constexpr uint64_t kLongestFunction = uint64_t{16} << 10;
constexpr size_t kDeepestTrial = 256;

}  // namespace

bool BlockedMemory::recover(const unwind::Lost& lost, unwind::RegisterFile& file) {
  return lost.row != nullptr ? recover_by_row(lost, file) : recover_without_row(lost, file);
}

// `low` to `high`: where this function begins.
BlockedMemory::Fit BlockedMemory::judge(uint64_t return_address, uint64_t low, uint64_t high) {
  unwind::Module module;
  if (!modules_.find(return_address - 1, module)) return Fit::kNoCall;
  const std::optional<CallSite> call = call_before(memory_, return_address);
  if (!call) return Fit::kNoCall;
  if (call->target == 0) return Fit::kUnknown;
  return call->target >= low && call->target <= high ? Fit::kSame : Fit::kOther;
}

bool BlockedMemory::reaches_root(const unwind::RegisterFile& caller) {
  uint64_t frames[kDeepestTrial];
  unwind::StackWalk<RemoteMemory, ProcessModules> walk(memory_, modules_, cache_, true);
  return walk.run(caller.registers, frames, caller.known).stop == wire::StopReason::kRoot;
}

bool BlockedMemory::recover_by_row(const unwind::Lost& lost, unwind::RegisterFile& file) {
  uint64_t fde = 0;
  uint64_t start = 0;
  uint64_t end = 0;
  if (find_fde(lost.module, lost.pc, fde) != unwind::CfiResult::kFound ||
      read_coverage(lost.module.image, fde, start, end) != unwind::CfiResult::kFound) {
    return false;
  }
  const uint64_t sp = file.registers.value[kRsp];
  unwind::RegisterFile best{};
  std::pair<bool, Fit> best_score;  // whether it reaches the root, above all
  for (uint64_t slot = (sp + 7) & ~uint64_t{7}; slot < sp + kLargestFrame; slot += 8) {
    uint64_t word = 0;
    if (!memory_.read(slot, word)) break;
    unwind::RegisterFile caller = file;
    caller.set(kRbp, slot);
    using Row = unwind::RowApplication<BlockedMemory>;
    if (Row::apply(*lost.row, lost.module.image, *this, caller) != unwind::Step::kCaller) continue;
    // The psABI aligns the stack at every call.
    const uint64_t caller_sp = caller.registers.value[kRsp];
    if (caller_sp <= sp || caller_sp % 16 != 0) continue;
    const Fit fit = judge(caller.registers.value[kRip], start, start);
    if (fit == Fit::kNoCall) continue;
    const std::pair score(reaches_root(caller), fit);
    if (best.known == 0 || score > best_score) {
      best = caller;
      best_score = score;
    }
    if (score == std::pair(true, Fit::kSame)) break;
  }
  if (best.known == 0) return false;
  file = best;
  return true;
}

// The nearest return address with a saved rbp below it; or without one (musl is built without
// frame pointers), if it follows a call of this function.
bool BlockedMemory::recover_without_row(const unwind::Lost& lost, unwind::RegisterFile& file) {
  const uint64_t sp = file.registers.value[kRsp];
  uint64_t below = 1;  // no saved rbp: it is odd
  for (uint64_t slot = (sp + 7) & ~uint64_t{7}; slot < sp + kLargestFrame; slot += 8) {
    uint64_t word = 0;
    if (!memory_.read(slot, word)) break;
    const bool has_rbp = below == 0 || (below % 8 == 0 && memory_.covers(slot + 8, below));
    const Fit fit = judge(word, lost.pc - kLongestFunction, lost.pc);
    if (fit == Fit::kSame || (fit != Fit::kNoCall && has_rbp)) {
      file.known = 0;
      file.set(kRip, word);
      file.set(kRsp, slot + 8);
      if (has_rbp) file.set(kRbp, below);
      return true;
    }
    below = word;
  }
  return false;
}

}  // namespace sampan::attach
