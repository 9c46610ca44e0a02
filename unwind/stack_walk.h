// The algorithm that walks one stack, in our own process or in another one.
//
//   Memory   bool read(uint64_t avma, uint64_t& value): a word of the process's memory
//            bool read_code(uint64_t avma, uint64_t& value): the same of code, which a copy of a
//            stack lacks; bool may_read_code(): false where a seccomp filter forbids to ask first
//            bool readable(uint64_t avma): whether there is memory at all
//            bool covers(low, high), uint64_t load(avma): words that need no check once `covers`
//            has said so
//            where registers may be unknown from the beginning, also Step recover(const Lost& lost,
//            RegisterFile& file): takes the registers of such a frame to its caller's
//   Modules  bool find(uint64_t pc, Module& module) const: the module with this code
//
// A frame whose row is in the cache takes a handful of instructions and follows the
// registers of a packed row alone. Any other takes the slow path: the module, its FDE, the row. When a row needs a register
// that the fast path has not followed (r12, say), the walk begins again and follows all of them.
//
// The work is bounded: by wire::kDeepestStack frames (see joined_stack.h for those that there is no room for), and
// by kMostWork for searches of a module's table and for what is done where no table covers a pc. What is found there is remembered, for code
// without tables may recurse as deep as any other.
//
// Freestanding: linked into the target; async-signal-safe. It lives on the walking thread's stack.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/address.h"
#include "unwind/apply_row.h"
#include "unwind/cfi.h"
#include "unwind/entry_jump.h"
#include "unwind/frame.h"
#include "unwind/frame_from_start.h"
#include "unwind/joined_stack.h"
#include "unwind/last_walk.h"
#include "unwind/packed_row.h"
#include "unwind/return_path.h"
#include "unwind/walker.h"

namespace sampan::unwind {

// A frame whose caller cannot be found because a register is unknown.
struct Lost {
  const Module& module;  // of the frame's code; empty when there is none
  const CfiRow* row;     // null: there is no unwind information
  uint64_t pc;           // a lookup AVMA
};

template <typename Memory, typename Modules>
class StackWalk {
 public:
  // Without `may_read_modules`, cached rows only.
  StackWalk(Memory& memory, const Modules& modules, WalkCache& cache, bool may_read_modules)
      : memory_(memory),
        modules_(modules),
        cache_(cache),
        generation_(cache.rows.generation()),
        may_read_modules_(may_read_modules) {}

  // `known` has at least the pc and the stack pointer. `last`, `cfas`: see Walker::walk.
  WalkResult run(const Registers& registers, std::span<uint64_t> frames, LastWalk* last = nullptr,
                 RegisterSet known = kAllRegisters, uint64_t* cfas = nullptr) {
    WalkResult result{};
    last_ = last;
    for (bool follow_all : {false, true}) {
      if (!follow_all && known != kAllRegisters) continue;
      follow_all_ = follow_all;
      file_ = {registers, known};
      Step step = Step::kCaller;
      result.depth = walk(frames, cfas, step);
      result.stop = reason(step);
      if (step != Step::kLostRegister || !dropped_) break;
    }
    return result;
  }

 private:
  // In instructions that are looked at, some 10 ns each. A search takes up to some microseconds,
  // while the tables are not in the processor's caches.
  static constexpr uint16_t kMostWork = 1 << 14, kWorkOfSearch = 32;
  // Code that is in no module is made at run time and changes. Nothing of it is remembered
  // beyond this walk: there the frame pointer comes first, unless the function's end is near.
  static constexpr uint16_t kMostOfFunction = 1 << 12, kNearReturn = 16, kMostOfUnknownCode = 512;
  static constexpr uint16_t kMostFromStart = 6'000;

  uint32_t walk(std::span<uint64_t> frames, uint64_t* cfas, Step& step);
  PackedRow known_row(LastWalk::Pass& pass, uint32_t index, uint64_t pc, uint64_t sp);
  Step follow(PackedRow row, Frame& frame);
  [[gnu::noinline]] Step slow_step(Frame& frame, uint64_t pc, PackedRow::Kind known);
  Step step_by_cfi(Frame& frame, uint64_t pc);
  [[gnu::noinline]] Step step_by_row(Frame& frame, uint64_t pc, PackedRow row);
  bool find_module(uint64_t pc);
  [[gnu::noinline]] CfiResult find_row_of(uint64_t pc, CfiRow& row);
  [[gnu::noinline]] Step step_without_cfi(Frame& frame, uint64_t pc, PackedRow::Kind known);
  [[gnu::noinline]] Step follow_instructions(uint16_t most, uint64_t pc, Returns returns,
                                             bool remember);
  [[gnu::noinline]] Step step_from_start(uint64_t pc, bool guess, bool remember);
  [[gnu::noinline]] Step step_by_entry(uint64_t pc, bool remember);
  Step recover(Step failure, const CfiRow* row, uint64_t pc);
  bool step_by_made_row(Frame& frame, PackedRow row);

  // Rows of code that is made at run time, and kNoReturn where the frame pointer leads on. Recursion
  // meets the same few pcs for as many frames as there is room for. To follow the code for each of
  // them took longer than a period of a fast clock, and the thread came to nothing.
  PackedRow made_row(uint64_t pc) const {
    return last_ != nullptr ? last_->made_row(pc) : PackedRow();
  }
  void remember_made(uint64_t pc, PackedRow row) {
    if (last_ != nullptr) last_->remember_made(pc, row);
  }

  // The same registers in both forms.
  void to_file(const Frame& frame) {
    if (fast_frames_) file_.known &= kPackedRegisters;
    dropped_ |= fast_frames_;
    fast_frames_ = false;
    put_frame(frame, file_);
  }

  static wire::StopReason reason(Step step) {
    switch (step) {
      case Step::kRoot: return wire::StopReason::kRoot;
      case Step::kCaller:
      case Step::kTooMuchWork: return wire::StopReason::kDepthLimit;
      case Step::kBadAddress: return wire::StopReason::kBadAddress;
      case Step::kDamaged: return wire::StopReason::kBadCfi;
      case Step::kNoProgress: return wire::StopReason::kNoProgress;
      case Step::kUnloading: return wire::StopReason::kUnloading;
      case Step::kNoCall: return wire::StopReason::kNoCall;
      case Step::kNoRule:
      case Step::kLostRegister: break;
    }
    return wire::StopReason::kNoRule;
  }

  Memory& memory_;
  const Modules& modules_;
  WalkCache& cache_;
  const uint64_t generation_;
  const bool may_read_modules_;
  bool follow_all_ = false;
  bool fast_frames_ = false;  // a packed row was followed since `file_` was up to date
  bool dropped_ = false;      // registers that `follow_all_` would have followed
  // The frame did not make a call: the leaf, or one that a signal has interrupted.
  bool interrupted_ = true;
  bool leaf_ : 1 = true;
  bool chained_ : 1 = false;  // the last slow step was by the frame pointer
  bool exact_ : 1 =
      false;  // nothing has called the frame's code: a signal handler returns to its pc
  uint16_t work_left_ = kMostWork;
  LastWalk* last_ = nullptr;
  Module module_{};  // of the last slow step
  RegisterFile file_{};
};

// Writes frames until there is no caller or they are too many (kCaller); returns how many are there.
template <typename Memory, typename Modules>
uint32_t StackWalk<Memory, Modules>::walk(std::span<uint64_t> frames, uint64_t* cfas, Step& step) {
  Frame frame = frame_of(file_);
  fast_frames_ = dropped_ = false;
  interrupted_ = true;
  leaf_ = true;
  chained_ = false;
  LastWalk::Pass pass(last_, generation_);
  const JoinedStack joined(frames.size());
  // With less room, more frames are not wanted.
  const size_t most = frames.size() < wire::kMaxFrames ? frames.size() : wire::kDeepestStack;
  uint32_t count = 0;
  uint64_t pc = frame.pc;  // a lookup AVMA
  while (count < most) {
    const uint32_t place = joined.place(count);
    frames[place] = pc;
    const PackedRow row = known_row(pass, count++, pc, frame.sp);
    if (row.is_row() && !follow_all_) [[likely]] {
      step = follow(row, frame);
    } else {
      step = slow_step(frame, pc, row.kind());
      if (exact_) ++frames[place];
      exact_ = false;
    }
    if (cfas != nullptr) cfas[place] = frame.sp;
    if (step == Step::kRoot && interrupted_) frames[place] = frame.pc;  // it was planted
    if (step != Step::kCaller) break;
    if (frame.pc == 0) {
      step = Step::kRoot;
      break;
    }
    pc = interrupted_ ? CodeAddress::instruction_pointer(frame.pc).lookup_avma()
                      : CodeAddress::return_address(frame.pc).lookup_avma();
    leaf_ = false;
  }
  pass.end(count);
  return joined.join(count, frames, cfas);
}

// What was found out about a frame's pc before: kNone if nothing.
template <typename Memory, typename Modules>
inline PackedRow StackWalk<Memory, Modules>::known_row(LastWalk::Pass& pass, uint32_t index,
                                                       uint64_t pc, uint64_t sp) {
  PackedRow row = pass.find(pc, sp);
  if (!row.is_row()) row = cache_.rows.find(pc, generation_);
  pass.add(index, pc, sp, row);
  return row;
}

template <typename Memory, typename Modules>
inline Step StackWalk<Memory, Modules>::follow(PackedRow row, Frame& frame) {
  Step step = unwind::follow(row, interrupted_, memory_, frame);
  if (step == Step::kNoProgress) [[unlikely]]
    step = follow_to_segment(row, memory_, frame);
  if (step == Step::kCaller) {
    fast_frames_ = true;
    interrupted_ = false;
  }
  return step;
}

template <typename Memory, typename Modules>
Step StackWalk<Memory, Modules>::slow_step(Frame& frame, uint64_t pc, PackedRow::Kind known) {
  if (!may_read_modules_) return Step::kUnloading;
  if (!module_.contains_code(pc) && !find_module(pc)) {
    module_ = {};
    return step_without_cfi(frame, pc, PackedRow::kNone);
  }
  if (known == PackedRow::kUncovered || known == PackedRow::kNoReturn) {
    return step_without_cfi(frame, pc, known);
  }
  return work_left_ >= kWorkOfSearch ? step_by_cfi(frame, pc) : Step::kTooMuchWork;
}

template <typename Memory, typename Modules>
bool StackWalk<Memory, Modules>::find_module(uint64_t pc) {
  if (cache_.modules.find(pc, generation_, module_) && module_.contains_code(pc)) return true;
  if (!modules_.find(pc, module_)) return false;
  cache_.modules.insert(pc, generation_, module_);
  return true;
}

template <typename Memory, typename Modules>
Step StackWalk<Memory, Modules>::step_by_cfi(Frame& frame, uint64_t pc) {
  CfiRow row;
  const CfiResult result = find_row_of(pc, row);
  PackedRow::Kind known = PackedRow::kNone;
  if (result != CfiResult::kFound) {
    // A return address on the first byte of a function was not pushed by a call: makecontext puts
    // __start_context there. The fiber's stack ends here.
    if (result == CfiResult::kNotCovered) {
      const CfiResult next = find_row_of(pc + 1, row);
      if (next == CfiResult::kFound && !interrupted_) {
        interrupted_ = true;
        return Step::kRoot;
      }
      if (next == CfiResult::kNotCovered) {
        known = PackedRow::kUncovered;
        cache_.rows.insert(pc, generation_, PackedRow(known, 0, 0, 0));
      }
    }
    const Step step = step_without_cfi(frame, pc, known);
    return step == Step::kNoRule && result == CfiResult::kDamaged ? Step::kDamaged : step;
  }
  if (const PackedRow packed = pack(row); !follow_all_ && packed.is_row()) {
    return step_by_row(frame, pc, packed);
  }
  to_file(frame);
  chained_ = false;
  Step step = RowApplication<Memory>::apply(row, module_.image, memory_, file_);
  if (step == Step::kLostRegister) step = recover(step, &row, pc);
  if (step != Step::kCaller) return step;
  const uint64_t sp = frame.sp;
  frame = frame_of(file_);
  // A signal may have come on another stack, so its frame says nothing about the interrupted one.
  // A function that has not called anything may keep its return address in a register.
  if (!row.signal_frame && (interrupted_ ? frame.sp < sp : frame.sp <= sp)) {
    return Step::kNoProgress;
  }
  interrupted_ = row.signal_frame;
  return Step::kCaller;
}

// Tables that were written by hand may be wrong: LuaJIT's covers functions that its interpreter calls
// inside of itself as if they had the interpreter's frame. The code counts where the table leads to
// no return address and the code does. Code of the same module is one without a look, and a row that
// has been met once is not doubted again: both save time.
template <typename Memory, typename Modules>
Step StackWalk<Memory, Modules>::step_by_row(Frame& frame, uint64_t pc, PackedRow row) {
  Frame caller = frame;
  const bool fast_frames = fast_frames_, interrupted = interrupted_;
  const Step step = follow(row, caller);
  const bool doubtful = step == Step::kCaller ? !module_.contains_code(caller.pc) &&
                                                    !is_return_address(memory_, caller.pc)
                                              : step != Step::kRoot;
  if (doubtful) {
    fast_frames_ = fast_frames;
    interrupted_ = interrupted;
    to_file(frame);
    if (follow_instructions(kMostOfFunction, pc, Returns::kFirst, true) == Step::kCaller) {
      cache_.overruled.fetch_add(1, std::memory_order_relaxed);
      frame = frame_of(file_);
      interrupted_ = false;
      return Step::kCaller;
    }
    fast_frames_ = step == Step::kCaller;
    interrupted_ = interrupted && step != Step::kCaller;
  }
  cache_.rows.insert(pc, generation_, row);
  if (step == Step::kCaller) frame = caller;
  return step;
}

template <typename Memory, typename Modules>
CfiResult StackWalk<Memory, Modules>::find_row_of(uint64_t pc, CfiRow& row) {
  work_left_ = static_cast<uint16_t>(work_left_ - std::min(work_left_, kWorkOfSearch));
  uint64_t fde = 0;
  const CfiResult result = find_fde(module_, pc, fde);
  return result == CfiResult::kFound
             ? find_row(module_.image, fde, pc, cache_.cies, generation_, row)
             : result;
}

// `failure` when nothing helps: in our own process, where all registers are known from the start.
template <typename Memory, typename Modules>
Step StackWalk<Memory, Modules>::recover(Step failure, [[maybe_unused]] const CfiRow* row,
                                         [[maybe_unused]] uint64_t pc) {
  if constexpr (requires(Lost lost) { memory_.recover(lost, file_); }) {
    const Step step = memory_.recover(Lost{module_, row, pc}, file_);
    return step == Step::kLostRegister ? failure : step;
  } else {
    return failure;
  }
}

// A call through a bad pointer leads to where there is no memory. Nothing has been done since, so
// the return address is still on top of the stack.
//
// Elsewhere the function's own instructions say where its caller's frame is: those from the pc to its
// return, or those from its start to the pc. Where they do not, there may be a frame pointer. One that never
// returns, with a frame pointer of 0, is the outermost (psABI, 3.4.1).
template <typename Memory, typename Modules>
Step StackWalk<Memory, Modules>::step_without_cfi(Frame& frame, uint64_t pc,
                                                  PackedRow::Kind known) {
  const bool in_module = module_.contains_code(pc);
  const PackedRow made = in_module || interrupted_ ? PackedRow() : made_row(pc);
  if (made.is_row() && !follow_all_ && step_by_made_row(frame, made)) return Step::kCaller;
  const bool chained = chained_ && !fast_frames_;
  chained_ = false;
  to_file(frame);
  // A fiber's function returns to code that ends the process: its stack begins here.
  if (!interrupted_ && is_planted_end(memory_, frame.pc)) return Step::kRoot;
  Step step = leave_signal_frame(memory_, file_);
  if (step == Step::kCaller) {
    frame = frame_of(file_);
    exact_ = !interrupted_;
    interrupted_ = true;
    return step;
  }
  if (leaf_ && !in_module && !memory_.readable(frame.pc)) step = return_at_once(memory_, file_);
  if (step == Step::kNoRule && known != PackedRow::kNoReturn &&
      made.kind() != PackedRow::kNoReturn) {
    step = follow_instructions(in_module ? kMostOfFunction : kNearReturn, pc, Returns::kAny,
                               known == PackedRow::kUncovered);
  }
  const bool is_outermost =
      in_module && step == Step::kRoot && !interrupted_ && file_.knows(kFp) && frame.fp == 0;
  const bool lacks_register = in_module && step == Step::kLostRegister && dropped_;
  if (step != Step::kCaller && in_module && !lacks_register && known != PackedRow::kNoReturn) {
    const bool remember = known == PackedRow::kUncovered;
    if (step_from_start(pc, !is_outermost, remember) == Step::kCaller ||
        step_by_entry(pc, remember) == Step::kCaller) {
      step = Step::kCaller;
    }
  }
  if (step != Step::kCaller && !is_outermost && !lacks_register) step = Step::kNoRule;
  if (step == Step::kNoRule) {
    step = follow_frame_pointer(memory_, chained, file_);
    if (step == Step::kCaller) {
      if (!in_module && made.kind() == PackedRow::kNone) {
        remember_made(pc, PackedRow(PackedRow::kNoReturn, 0, 0, 0));
      }
      chained_ = true;
      dropped_ = false;  // nothing is known of them from here on
    } else if (!in_module && step != Step::kRoot &&
               follow_instructions(kMostOfUnknownCode, pc, Returns::kAny, false) == Step::kCaller) {
      step = Step::kCaller;
    }
  }
  if (step == Step::kLostRegister || step == Step::kNoRule || step == Step::kNoCall) {
    step = recover(step, nullptr, pc);
  }
  if (step != Step::kCaller) return step;
  frame = frame_of(file_);
  interrupted_ = false;
  return Step::kCaller;
}

// False, with the frame as it was, where the row does not lead to a return address.
template <typename Memory, typename Modules>
bool StackWalk<Memory, Modules>::step_by_made_row(Frame& frame, PackedRow row) {
  Frame caller = frame;
  const bool fast_frames = fast_frames_;
  if (follow(row, caller) == Step::kCaller && is_return_address(memory_, caller.pc)) {
    frame = caller;
    chained_ = false;
    return true;
  }
  fast_frames_ = fast_frames;
  interrupted_ = false;
  return false;
}

template <typename Memory, typename Modules>
Step StackWalk<Memory, Modules>::follow_instructions(uint16_t most, uint64_t pc, Returns returns,
                                                     bool remember) {
  if (!memory_.may_read_code()) return Step::kNoRule;
  uint16_t left = std::min(most, work_left_);
  const bool whole_search = left == most;
  work_left_ = static_cast<uint16_t>(work_left_ - left);
  ReturnPath<Memory> path(memory_, file_, !interrupted_, returns);
  const Step step = path.follow(left, file_);
  work_left_ = static_cast<uint16_t>(work_left_ + left);
  if (step == Step::kCaller && path.row().is_row()) {
    remember ? cache_.rows.insert(pc, generation_, path.row()) : remember_made(pc, path.row());
  } else if (remember && returns == Returns::kAny && step == Step::kNoRule && whole_search &&
             !path.met_return()) {
    cache_.rows.insert(pc, generation_, PackedRow(PackedRow::kNoReturn, 0, 0, 0));
  }
  return step;
}

// What does not fit into a row is searched anew each time, and so must not be remembered as code without a return.
template <typename Memory, typename Modules>
Step StackWalk<Memory, Modules>::step_from_start(uint64_t pc, bool guess, bool remember) {
  if (!memory_.may_read_code()) return Step::kNoRule;
  uint16_t left = std::min(kMostFromStart, work_left_);
  work_left_ = static_cast<uint16_t>(work_left_ - left);
  FrameFromStart<Memory> frame(memory_, module_, file_, !interrupted_);
  const Step step = frame.find(left, guess, file_);
  work_left_ = static_cast<uint16_t>(work_left_ + left);
  if (step == Step::kCaller && remember) {
    const PackedRow row = frame.row();
    cache_.rows.insert(pc, generation_,
                       row.is_row() ? row : PackedRow(PackedRow::kUncovered, 0, 0, 0));
  }
  return step;
}

template <typename Memory, typename Modules>
Step StackWalk<Memory, Modules>::step_by_entry(uint64_t pc, bool remember) {
  if (!memory_.may_read_code()) return Step::kNoRule;
  const uint64_t first_sp = file_.registers.value[kSp];
  EntryJump<Memory> entry(memory_, first_sp);
  const auto is_code = [&](uint64_t word) {
    return module_.contains_code(word) || find_module(word);
  };
  Step step = Step::kNoRule;
  while (step != Step::kCaller && entry.next(is_code, work_left_)) {
    CfiRow row;
    uint64_t sp = 0;
    if (!is_code(entry.jump()) || find_row_of(entry.jump(), row) != CfiResult::kFound ||
        !entry.fits(row, sp)) {
      continue;
    }
    RegisterFile caller = file_;
    caller.set(kSp, sp);
    step = RowApplication<Memory>::apply(row, module_.image, memory_, caller);
    if (caller.registers.value[kPc] != entry.return_address() ||
        caller.registers.value[kSp] != entry.cfa()) {
      step = Step::kNoRule;
    }
    if (step == Step::kCaller) file_ = caller;
  }
  if (step == Step::kCaller && remember && entry.row().is_row()) {
    cache_.rows.insert(pc, generation_, entry.row());
  }
  is_code(pc);  // `module_` is that of the frame again
  return step == Step::kCaller ? step : Step::kNoRule;
}

}  // namespace sampan::unwind
