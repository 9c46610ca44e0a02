#include "profile/python_stacks.h"

#include "base/interner.h"
#include "profile/frames.h"

namespace sampan::profile {
namespace {

class StackTable {
 public:
  StackTable(const recording::Recording& from, PythonFrames wanted, Profile* profile)
      : from_(from), wanted_(wanted), profile_(profile) {}

  std::vector<uint32_t> enter() {
    handles_.reserve(from_.stacks.size());
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

  // `in_python`: a frame towards the root is a Python function.
  uint32_t handle_of(const recording::Stack& row, bool in_python) {
    const uint32_t callers = row.prefix == kNone ? kNone : handles_[row.prefix];
    switch (wanted_) {
      case PythonFrames::kNative: return is_python_row(row) ? callers : intern(callers, row);
      case PythonFrames::kPython:
        if (!is_python_row(row)) return in_python ? callers : intern(callers, row);
        return intern(in_python ? callers : kNone, row);
      case PythonFrames::kMixed: break;
    }
    return intern(is_python_row(row) ? without_eval_loop(row.prefix) : callers, row);
  }

  // A frame of the eval loop stands where the Python functions do that it runs, on their root side.
  // It says nothing beyond them and is left out.
  uint32_t without_eval_loop(uint32_t row) const {
    if (row == kNone) return kNone;
    if (is_python_row(from_.stacks[row])) return handles_[row];
    const uint32_t caller = from_.stacks[row].prefix;
    return caller == kNone ? kNone : handles_[caller];
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
  return StackTable(from, wanted, profile).enter();
}

}  // namespace sampan::profile
