#include "profile/python_stacks.h"

#include <algorithm>
#include <numeric>

#include "base/interner.h"
#include "profile/frames.h"
#include "profile/jit_code.h"
#include "wire/deep_stack.h"

namespace sampan::profile {
namespace {

class StackTable {
 public:
  StackTable(const recording::Recording& from, PythonFrames wanted, Profile* profile)
      : from_(from), wanted_(wanted), profile_(profile) {}

  std::vector<uint32_t> enter() {
    handles_.reserve(from_.stacks.size());
    stacks_.reserve(from_.stacks.size());
    for (const recording::Stack& row : from_.stacks) {
      const bool in_python = row.prefix != kNone && in_python_[row.prefix];
      in_python_.push_back(in_python || is_python_row(row));
      handles_.push_back(handle_of(row, in_python));
    }
    return std::move(handles_);
  }

 private:
  bool is_python_row(const recording::Stack& row) const {
    return is_python(profile_->locations[row.frame]);
  }

  // It stands for functions of Python, too.
  bool is_cut(const recording::Stack& row) const {
    const Location& place = profile_->locations[row.frame];
    return place.module == kNone && place.address == wire::kFramesLeftOut;
  }

  // `in_python`: a frame towards the root is a Python function.
  uint32_t handle_of(const recording::Stack& row, bool in_python) {
    const uint32_t callers = row.prefix == kNone ? kNone : handles_[row.prefix];
    switch (wanted_) {
      case PythonFrames::kNative: return is_python_row(row) ? callers : intern(callers, row);
      case PythonFrames::kPython:
        if (!is_python_row(row)) {
          return in_python && !is_cut(row) ? callers : intern(callers, row);
        }
        return intern(in_python ? callers : kNone, row);
      case PythonFrames::kMixed: break;
    }
    return intern(is_python_row(row) ? without_eval_loop(row.prefix) : callers, row);
  }

  // A frame of the eval loop stands where the Python functions do that it runs, on their root side.
  // It says nothing beyond them and is left out, with the code that leads to it under `-X perf`.
  uint32_t without_eval_loop(uint32_t row) const {
    if (row == kNone) return kNone;
    if (is_python_row(from_.stacks[row]) || is_cut(from_.stacks[row])) return handles_[row];
    const uint32_t caller = without_trampoline(row);
    return caller == kNone ? kNone : handles_[caller];
  }

  // The caller of an eval loop. Under `-X perf` that is code without a module, which stands for the
  // function: nothing else of the kind calls eval loops, for they are not called by address
  // elsewhere. Its caller is the interpreter's evaluator. If one C function of the interpreter alone
  // lies between that and the calling Python function, it is what calls functions: without the
  // option there is no C frame in between. So all of them are left out.
  uint32_t without_trampoline(uint32_t eval_loop) const {
    const uint32_t module = module_of(eval_loop);
    const uint32_t trampoline = from_.stacks[eval_loop].prefix;
    if (trampoline == kNone || !is_generated(trampoline) || module == kNone) return trampoline;
    const uint32_t evaluator = from_.stacks[trampoline].prefix;
    if (evaluator == kNone || module_of(evaluator) != module) return evaluator;
    const uint32_t call = from_.stacks[evaluator].prefix;
    if (call == kNone || module_of(call) != module) return call;
    const uint32_t caller = from_.stacks[call].prefix;
    return caller != kNone && is_python_row(from_.stacks[caller]) ? caller : call;
  }

  uint32_t module_of(uint32_t row) const {
    return profile_->locations[from_.stacks[row].frame].module;
  }
  bool is_generated(uint32_t row) const {
    const Location& place = profile_->locations[from_.stacks[row].frame];
    return is_jit(place) && !is_python(place);
  }

  uint32_t intern(uint32_t prefix, const recording::Stack& row) {
    const auto [handle, is_new] = stacks_.intern(recording::Stack{prefix, row.frame});
    if (is_new) profile_->stacks.push_back({prefix, row.frame});
    return handle;
  }

  const recording::Recording& from_;
  PythonFrames wanted_;
  Profile* profile_;
  std::vector<uint32_t> handles_;  // by row
  std::vector<bool> in_python_;    // by row: it has a Python function
  Interner<recording::Stack> stacks_;
};

}  // namespace

std::vector<uint32_t> enter_stacks(const recording::Recording& from, PythonFrames wanted,
                                   Profile* profile) {
  if (std::ranges::none_of(profile->locations,
                           is_python)) {  // nothing is left out: the rows as they are
    for (const recording::Stack& row : from.stacks) {
      profile->stacks.push_back({row.prefix, row.frame});
    }
    std::vector<uint32_t> handles(from.stacks.size());
    std::iota(handles.begin(), handles.end(), 0);
    return handles;
  }
  return StackTable(from, wanted, profile).enter();
}

}  // namespace sampan::profile
