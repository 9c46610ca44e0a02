#include "sampler/process/blocked_memory.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "sampler/process/machine_code.h"
#include "unwind/cfi.h"

namespace sampan::sampler {
namespace {

using unwind::kFp;
using unwind::kPc;
using unwind::kSp;
using unwind::Step;

// How far above the stack pointer a frame may end. Nearly all are much smaller.
constexpr uint64_t kLargestFrame = uint64_t{64} << 10;
constexpr uint64_t kSmallFrame = 512;
// Without unwind information it is not known where a function begins.
constexpr uint64_t kLongestFunction = uint64_t{4} << 10;
constexpr uint64_t kUnknownFp = 1;  // never the address of a frame
constexpr size_t kDeepestTrial = 512;
constexpr unsigned kMostTrialsWithin = 6;

uint64_t first_slot(const unwind::RegisterFile& file) {
  return (file.registers.value[kSp] + 7) & ~uint64_t{7};
}

}  // namespace

Step BlockedMemory::recover(const unwind::Lost& lost, unwind::RegisterFile& file) {
  return lost.row != nullptr ? recover_by_row(lost, file) : recover_without_row(lost.pc, file);
}

BlockedMemory::Fit BlockedMemory::judge(uint64_t return_address, uint64_t function) {
  unwind::Module module;
  if (!modules_.find(return_address - 1, module)) return Fit::kNoCall;
  const std::optional<CallBefore> call = call_before(memory_, return_address);
  if (!call) return Fit::kNoCall;
  if (call->target == 0) return Fit::kUnknown;
  return call->target == function ? Fit::kSame : Fit::kOther;
}

// Through known code only: a chain of frame pointers that leads anywhere else proves nothing.
uint32_t BlockedMemory::frames_to_root(const unwind::RegisterFile& caller) {
  if (trials_left_ == 0 || depth_ == kMostTrialsWithin) return 0;
  const uint64_t fp = caller.knows(kFp) ? caller.registers.value[kFp] : kUnknownFp;
  const auto [trial, is_new] = tried_.try_emplace({caller.registers.value[kSp], fp}, 0);
  if (!is_new) return trial->second;
  --trials_left_;
  ++depth_;
  uint64_t frames[kDeepestTrial] = {};
  unwind::StackWalk<BlockedMemory, ProcessModules> walk(*this, modules_, cache_, true);
  const unwind::WalkResult result = walk.run(caller.registers, frames, nullptr, caller.known);
  --depth_;
  if (result.stop != wire::StopReason::kRoot) return 0;
  unwind::Module module;
  for (uint32_t i = 1; i < result.depth; ++i) {
    if (!modules_.find(frames[i], module)) return 0;
  }
  trial->second = result.depth;
  return result.depth;
}

// Uses unwind information, with each value that the frame pointer may have.
Step BlockedMemory::recover_by_row(const unwind::Lost& lost, unwind::RegisterFile& file) {
  uint64_t fde = 0;
  uint64_t start = 0;
  uint64_t end = 0;
  if (find_fde(lost.module, lost.pc, fde) != unwind::CfiResult::kFound ||
      read_coverage(lost.module.image, fde, start, end) != unwind::CfiResult::kFound) {
    return Step::kLostRegister;
  }
  const uint64_t sp = file.registers.value[kSp];
  std::optional<unwind::RegisterFile> best;
  std::pair<bool, Fit> best_score;  // whether it leads to the root, above all
  const auto try_slot = [&](uint64_t slot) {
    unwind::RegisterFile caller = file;
    caller.set(kFp, slot);
    using Row = unwind::RowApplication<BlockedMemory>;
    if (Row::apply(*lost.row, lost.module.image, *this, caller) != Step::kCaller) return;
    // The psABI aligns the stack at every call.
    const uint64_t caller_sp = caller.registers.value[kSp];
    if (caller_sp <= sp || caller_sp % 16 != 0) return;
    const Fit fit = judge(caller.registers.value[kPc], start);
    if (fit == Fit::kNoCall) return;
    const std::pair score(frames_to_root(caller) != 0, fit);
    if (best && score <= best_score) return;
    best = caller;
    best_score = score;
  };
  // The place that the code names comes first, whatever else looks like it.
  try_slot(sp + bytes_below_frame_pointer(memory_, start, *lost.row));
  const bool expected = best && best_score.first && best_score.second != Fit::kOther;
  for (uint64_t slot = first_slot(file); !expected && slot < sp + kLargestFrame; slot += 8) {
    uint64_t word = 0;
    if (!memory_.read(slot, word)) break;
    try_slot(slot);
    if (best && best_score == std::pair(true, Fit::kSame)) break;
  }
  if (!best) return Step::kLostRegister;
  file = *best;
  return Step::kCaller;
}

// For code without unwind information, and perhaps without frame pointers (musl). Takes a return
// address that leads to the root, with or without a saved frame pointer below it. Among near candidates the
// one with the most frames wins, because calls that have returned leave shortcuts. If there is no
// return address up to the end of the stack, this frame is the root. If none leads to the root, as
// in a thread of Go's scheduler, it takes the nearest that follows a call of what may be this
// function.
Step BlockedMemory::recover_without_row(uint64_t pc, unwind::RegisterFile& file) {
  const uint64_t sp = file.registers.value[kSp];
  uint64_t end = sp + kLargestFrame;
  unwind::RegisterFile best{};
  uint32_t most_frames = 0;
  std::optional<unwind::RegisterFile> likely;
  bool any = false;
  uint64_t below = 0;
  uint64_t word = 0;
  uint64_t slot = first_slot(file);
  for (; slot < end && memory_.read(slot, word); slot += 8, below = word) {
    unwind::Module module;
    if (!modules_.find(word - 1, module)) continue;
    const std::optional<CallBefore> call = call_before(memory_, word);
    if (!call) continue;
    any = true;
    unwind::RegisterFile caller{};
    caller.set(kPc, word);
    caller.set(kSp, slot + 8);
    unwind::RegisterFile with_fp = caller;
    with_fp.set(kFp, below);
    const bool may_be_fp = below % 8 == 0 && below > slot && memory_.covers(below, below + 16);
    for (const bool fp : {true, false}) {
      if (fp && !may_be_fp) continue;
      const uint32_t frames = frames_to_root(fp ? with_fp : caller);
      if (frames <= most_frames) continue;
      if (most_frames == 0) end = std::min(end, slot + kSmallFrame);
      most_frames = frames;
      best = fp ? with_fp : caller;
    }
    if (!likely && pc - call->target < kLongestFunction) likely = may_be_fp ? with_fp : caller;
  }
  if (most_frames != 0) {
    file = best;
    return Step::kCaller;
  }
  unwind::Module module;  // unknown code has unknown callers
  if (!any && slot < end && modules_.find(pc, module)) return Step::kRoot;
  if (!likely) return Step::kLostRegister;
  file = *likely;
  return Step::kCaller;
}

}  // namespace sampan::sampler
