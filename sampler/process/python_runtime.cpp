#include "sampler/process/python_runtime.h"

#include <algorithm>

#include "base/units.h"
#include "sampler/process/remote_memory.h"

namespace sampan::sampler {
namespace {

// struct _gil_runtime_state: from its last holder to the end of its two condition variables.
constexpr uint64_t kGilSize = 208, kLastHolder = 8;
constexpr size_t kMostGils = 256;
constexpr uint64_t kLookInterval = kNsPerSecond;

}  // namespace

bool PythonRuntime::is_gil(Avma futex, MonotonicNs now_ns) {
  if (gil_of(futex) != 0) return true;
  if (looked_ns_ != 0 && now_ns - looked_ns_ < kLookInterval) return false;
  looked_ns_ = now_ns;
  if (!interpreter_) interpreter_ = find_python(pid_);
  if (interpreter_ && !interpreter_->is_known) interpreter_.reset();
  if (interpreter_) read_gils();
  return gil_of(futex) != 0;
}

std::optional<pid_t> PythonRuntime::gil_holder(Avma futex) const {
  const Avma gil = gil_of(futex);
  uint64_t thread = 0, tid = 0;
  if (gil == 0) return std::nullopt;
  const uint16_t native_id = interpreter_->runtime_layout.native_thread_id;
  if (native_id == 0 || !read(gil + kLastHolder, thread) || thread == 0 ||
      !read(Avma::at(thread) + native_id, tid)) {
    return std::nullopt;
  }
  return static_cast<pid_t>(tid);
}

void PythonRuntime::read_gils() {
  gils_.clear();
  const unwind::PythonRuntimeLayout& layout = interpreter_->runtime_layout;
  if (layout.gil != 0) gils_.push_back(interpreter_->runtime + layout.gil);
  if (layout.gil_pointer == 0) return;
  uint64_t interpreter = 0, gil = 0;
  read(interpreter_->runtime + layout.first_interpreter, interpreter);
  while (interpreter != 0 && gils_.size() < kMostGils &&
         read(Avma::at(interpreter) + layout.gil_pointer, gil)) {
    if (gil != 0) gils_.push_back(Avma::at(gil));
    if (!read(Avma::at(interpreter) + layout.next_interpreter, interpreter)) return;
  }
}

bool PythonRuntime::read(Avma avma, uint64_t& value) const {
  return read_process(pid_, avma, &value, sizeof value) == sizeof value;
}

Avma PythonRuntime::gil_of(Avma futex) const {
  const auto found =
      std::ranges::find_if(gils_, [futex](Avma gil) { return futex - gil < kGilSize; });
  return found != gils_.end() ? *found : Avma();
}

}  // namespace sampan::sampler
