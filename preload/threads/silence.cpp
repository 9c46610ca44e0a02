// Threads whose clocks stop because the program is about to forbid what a signal needs: a system call
// of the handler, or its return. Afterwards none of our signals is pending or being handled there.
#include "preload/threads/silence.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "base/syscall.h"
#include "preload/clocks/clock.h"
#include "preload/process/process.h"
#include "preload/support/decimal.h"
#include "preload/threads/threads.h"

namespace sampan::preload {
namespace {

// A thread that waits for a CPU handles a pending signal only when it has one.
constexpr int kLongestWaitMs = 500;

bool stop(ThreadState& thread) {
  thread.clock.lock.lock();
  const bool stopped = stop_clock(thread.clock);
  thread.clock.lock.unlock();
  return stopped;
}

// The bits behind `key` in a thread's status.
uint64_t mask_of(const char* status, const char* key) {
  const char* at = strstr(status, key);
  if (at == nullptr) return 0;
  uint64_t mask = 0;
  for (at += strlen(key); *at != '\n' && *at != '\0'; ++at) {
    mask = mask << 4 | static_cast<uint64_t>(*at <= '9' ? *at - '0' : *at - 'a' + 10);
  }
  return mask;
}

// Whether a signal of ours is pending in the thread, or being handled: only then, and for moments, is
// the sampling signal blocked in the kernel.
bool is_busy(const ThreadState& thread) {
  char path[48], status[4096];
  char* end = stpcpy(path, "/proc/self/task/");
  write_decimal(end, thread.tid);
  strcat(path, "/status");
  const long fd = raw_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const long size = raw_syscall(SYS_read, fd, status, sizeof status - 1);
  raw_syscall(SYS_close, fd);
  if (size <= 0) return false;
  status[size] = '\0';
  const uint64_t masks = mask_of(status, "\nSigPnd:\t") | mask_of(status, "\nSigBlk:\t");
  return (masks & signal_bit(sampling_signal())) != 0;
}

// Between the end of "pending" and the beginning of "blocked" a thread looks idle. So it has to be
// idle twice.
void wait_for_others(const ThreadState* self) {
  int idle = 0;
  for (int waited = 0; idle < 2 && waited < kLongestWaitMs; ++waited) {
    bool busy = false;
    for_each_thread([&](const ThreadState& thread) { busy |= &thread != self && is_busy(thread); });
    idle = busy ? 0 : idle + 1;
    const timespec pause{0, 1'000'000};
    raw_syscall(SYS_nanosleep, &pause, nullptr);
  }
}

}  // namespace

uint32_t silence_this_thread() {
  ThreadState* thread = current_thread();
  if (thread == nullptr) return 0;
  const SignalsBlocked blocked;
  const bool stopped = stop(*thread);
  drop_pending(signal_bit(sampling_signal()));
  return stopped ? 1 : 0;
}

uint32_t silence_all_threads() {
  uint32_t stopped = 0;
  const SignalsBlocked blocked;
  for_each_thread([&](ThreadState& thread) { stopped += stop(thread) ? 1 : 0; });
  drop_pending(signal_bit(sampling_signal()));
  wait_for_others(current_thread());
  return stopped;
}

void end_silence_of_this_thread() {
  ThreadState* thread = current_thread();
  if (thread == nullptr || !keeps_sampling_signal()) return;
  const SignalsBlocked blocked;
  thread->clock.lock.lock();
  if (thread->clock.armed == kNoClock) arm_clock(thread->clock);
  thread->clock.lock.unlock();
}

}  // namespace sampan::preload
