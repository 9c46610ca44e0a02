// What the wrappers write into the ring of the calling thread, in ordinary context and in the program's signal
// handlers.
//
// Freestanding: linked into the target.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/address.h"
#include "base/syscall.h"
#include "preload/markers/marker_thread.h"
#include "preload/process/process.h"
#include "preload/samples/sample.h"
#include "preload/signals/alternate_stack.h"
#include "preload/threads/threads.h"
#include "unwind/registers.h"
#include "wire/control_block.h"

namespace sampan::preload {

// Whether records can be written now. Not in the child of a fork that no interposer has seen, before it joins: the
// rings are its parent's. Nor when the recording has failed.
inline bool may_record() {
  return this_process.started.load(std::memory_order_acquire) && *this_process.fork_marker != 0 &&
         wire::control_block(this_process.shared)->enabled.load(std::memory_order_relaxed) != 0;
}

// The ring of the calling thread, while this exists. In a vfork child, its parent's, whose memory it allocates and
// frees.
class ThreadRing {
 public:
  ThreadRing() {
    ThreadState* thread = begun_thread();
    if (thread == nullptr || is_foreign(*thread) || on_small_alternate_stack(thread->signals) ||
        thread->busy.exchange(true, std::memory_order_acquire)) {
      return;
    }
    thread_ = thread;
    // To ask for a page takes a system call.
    if (is_filtered()) thread->samples.stack.may_probe = false;
  }
  ~ThreadRing() {
    if (thread_ != nullptr) thread_->busy.store(false, std::memory_order_release);
  }
  ThreadRing(const ThreadRing&) = delete;
  ThreadRing& operator=(const ThreadRing&) = delete;

  // Null: the thread has none, or has been interrupted while it wrote a record.
  ThreadState* thread() const { return thread_; }

 private:
  static bool is_filtered() {
    return this_process.seccomp_filtered.load(std::memory_order_relaxed);
  }
  // Whether a raw clone shares the thread-local storage of another thread.
  static bool is_foreign(const ThreadState& thread) {
    return foreign_threads.load(std::memory_order_relaxed) != 0 && !is_filtered() &&
           raw_syscall(SYS_gettid) != thread.tid;
  }

  ThreadState* thread_ = nullptr;
};

// Walks the stack from here into SampleState::frames, and leaves out what is below the caller. `caller`: the return
// address into the code that called a wrapper, the leaf.
[[gnu::always_inline]] inline unwind::WalkResult walk_from(const void* caller,
                                                           SampleState& samples) {
  constexpr uint32_t kMostOwnFrames = 8;
  unwind::Registers registers{};
  unwind::put_registers_here(registers.value);
  unwind::WalkResult walked = walk_stack(samples, registers);
  const uint64_t leaf =
      CodeAddress::return_address(reinterpret_cast<uint64_t>(caller)).lookup_avma();
  const uint32_t most = std::min(walked.depth, kMostOwnFrames);
  uint32_t own = 0;
  while (own < most && samples.frames[own] != leaf) ++own;
  if (own == most) {
    samples.frames[0] = leaf;
    walked.depth = 1;
    return walked;
  }
  walked.depth -= own;
  for (uint32_t i = 0; i < walked.depth; ++i) samples.frames[i] = samples.frames[own + i];
  return walked;
}

}  // namespace sampan::preload
