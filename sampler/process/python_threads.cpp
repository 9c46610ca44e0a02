#include "sampler/process/python_threads.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/processor.h"
#include "sampler/process/proc_task.h"
#include "sampler/process/remote_memory.h"

namespace sampan::sampler {
namespace {

// Bounds of lists that another process has.
constexpr size_t kMostInterpreters = 256, kMostThreads = 4096;
constexpr size_t kMostStates = 8;  // of one thread
// An offset in PyThreadState, in all versions that have a layout.
constexpr uint64_t kPreviousThread = 0;

}  // namespace

void PythonThreads::find(pid_t tid, std::vector<uint64_t>& states) {
  if (choose(tid, states) && is_current(!states.empty())) return;
  read_states();
  if (!choose(tid, states)) states.clear();
}

std::vector<PythonThreadState> PythonThreads::all() {
  read_states();
  std::vector<PythonThreadState> all;
  for (const auto& [tid, state] : states_) all.push_back({tid, state.avma, state.interpreter});
  std::ranges::sort(all, {}, [](const PythonThreadState& each) {
    return std::pair(each.tid, uint64_t{each.state});
  });
  return all;
}

// False: a state that was this thread's is gone.
bool PythonThreads::choose(pid_t tid, std::vector<uint64_t>& chosen) const {
  const auto [begin, end] = states_.equal_range(tid);
  chosen.clear();
  for (auto it = begin; it != end; ++it) {
    if (!is_listed(it->second)) return false;
    chosen.push_back(it->second.avma);
  }
  if (chosen.size() < 2) return true;
  const uint64_t one = chosen.front();
  std::erase_if(chosen, [this](uint64_t state) { return !has_frames(Avma::at(state)); });
  if (chosen.empty()) chosen.push_back(one);
  return true;
}

// The memory of a state that was dropped may be another's.
bool PythonThreads::is_listed(const State& state) const {
  const unwind::PythonRuntimeLayout& layout = interpreter_.runtime_layout;
  const uint64_t before = word(state.avma + kPreviousThread);
  const Avma link =
      before != 0 ? Avma::at(before) + layout.next_thread : state.interpreter + layout.first_thread;
  return word(state.id_place) == state.id && word(link) == state.avma;
}

bool PythonThreads::has_frames(Avma state) const {
  const unwind::PythonLayout& layout = interpreter_.layout;
  if (layout.thread_frame != 0) return word(state + layout.thread_frame) != 0;
  return word(Avma::at(word(state + layout.thread_cframe)) + layout.cframe_frame) != 0;
}

// `is_known`: the thread has a state. It has another one only if there is another interpreter.
bool PythonThreads::is_current(bool is_known) const {
  const size_t count = is_known && interpreters_ == 1 ? 1 : watched_.size();
  return !watched_.empty() &&
         std::ranges::all_of(std::span(watched_).first(count), [this](const Word& watched) {
           return word(watched.place) == watched.value;
         });
}

void PythonThreads::read_states() {
  states_.clear();
  watched_.clear();
  std::vector<pid_t> tids = thread_ids(pid_);
  std::ranges::sort(tids);
  const unwind::PythonRuntimeLayout& layout = interpreter_.runtime_layout;
  uint64_t interpreter = watched(interpreter_.runtime + layout.first_interpreter);
  size_t room = kMostThreads;
  interpreters_ = 0;
  for (; interpreter != 0 && interpreters_ < kMostInterpreters; ++interpreters_) {
    read_states_of(Avma::at(interpreter), tids, room);
    interpreter = word(Avma::at(interpreter) + layout.next_interpreter);
  }
}

// `tids`: those of the process, in order. `room`: for so many states. After a fork the id of the kernel may be that of the parent's
// thread, but the C library knows better.
void PythonThreads::read_states_of(Avma interpreter, const std::vector<pid_t>& tids, size_t& room) {
  const unwind::PythonRuntimeLayout& layout = interpreter_.runtime_layout;
  const auto is_ours = [&](uint64_t tid) {
    return tid <= INT32_MAX && std::ranges::binary_search(tids, static_cast<pid_t>(tid));
  };
  uint64_t next = watched(interpreter + layout.first_thread);
  for (bool is_first = true; next != 0 && room > 0; is_first = false, --room) {
    const Avma avma = Avma::at(next);
    State state{avma, interpreter, avma + layout.native_thread_id, 0};
    if (layout.native_thread_id != 0) state.id = word(state.id_place);
    uint64_t tid = state.id;
    if (is_first || !is_ours(tid)) watched(state.id_place);
    if (!is_ours(tid)) {
      state.id_place = avma + layout.thread_id;
      state.id = word(state.id_place);
      tid = word(Avma::at(state.id) + kTidOfPthread) & UINT32_MAX;
    }
    next = word(avma + layout.next_thread);
    if (!is_ours(tid)) continue;
    // A new state has the id of the thread that makes it, until its own thread begins.
    const auto same = states_.find(static_cast<pid_t>(tid));
    if (same != states_.end()) {
      watched(same->second.id_place);
      watched(state.id_place);
    }
    if (states_.count(static_cast<pid_t>(tid)) < kMostStates) {
      states_.emplace(static_cast<pid_t>(tid), state);
    }
  }
}

uint64_t PythonThreads::watched(Avma place) {
  watched_.push_back({place, word(place)});
  return watched_.back().value;
}

// 0: there is no memory.
uint64_t PythonThreads::word(Avma avma) const {
  uint64_t value = 0;
  return read_process(pid_, avma, &value, sizeof value) == sizeof value ? value : 0;
}

}  // namespace sampan::sampler
