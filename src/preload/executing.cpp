#include "preload/executing.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>

#include "base/syscall.h"
#include "preload/clock.h"
#include "preload/exit.h"
#include "preload/image.h"
#include "preload/process.h"
#include "preload/process_ring.h"
#include "preload/sampling_signal.h"
#include "preload/threads.h"

namespace sampan::preload {
namespace {

void disarm_all() {
  for_each_thread([](ThreadState& thread) {
    thread.clock_lock.lock();
    disarm(thread);
    thread.clock_lock.unlock();
  });
}

// The kernel takes back the signals of timers on exec, but not those of perf events, and the new
// image has the default action for them: death.
void stop_perf_clock() {
  const uint64_t sampling = uint64_t{1} << (sampling_signal() - 1);
  uint64_t before = 0;
  raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, &sampling, &before, sizeof before);
  {
    const SignalsBlocked blocked;
    disarm_all();
  }
  constexpr timespec kNow{};
  while (raw_syscall(SYS_rt_sigtimedwait, &sampling, nullptr, &kNow, sizeof sampling) > 0) {
  }
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, nullptr, sizeof before);
}

}  // namespace

bool hands_on_session() {
  return this_process.shared != nullptr;
}

bool profiles_image(const char* path, bool search, bool spawned) {
  // The filter would be on the new image too, and nobody there would know.
  if (this_process.seccomp_filtered.load(std::memory_order_relaxed)) return false;
  const bool wanted =
      this_process.follow || (!spawned && raw_syscall(SYS_getpid) == this_process.session_pid);
  return wanted && look_at_image(path, search);
}

Executing::Executing(const char* path) {
  own_image_ = active() && !in_vfork_child();
  if (own_image_) {
    record_live_threads();
    const size_t length = path != nullptr ? strnlen(path, PATH_MAX) : 0;
    write_process_record(wire::RecordType::kExec, {}, {path, length}, wire::Loss::kModuleRecord);
    this_process.executing.store(true, std::memory_order_relaxed);
    if (uses_perf_clock()) stop_perf_clock();
  }
  show_program_mask_to_kernel();
}

Executing::~Executing() {
  const int saved_errno = errno;
  hide_program_mask_again();
  if (own_image_) {
    write_process_record(wire::RecordType::kExecFailed, {}, {}, wire::Loss::kModuleRecord);
    if (uses_perf_clock()) rearm_all_threads();
    this_process.executing.store(false, std::memory_order_relaxed);
  }
  errno = saved_errno;
}

}  // namespace sampan::preload
