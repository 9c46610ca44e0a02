// The clock above the kernel's tick: a perf event of the thread that counts its own CPU time
// (PERF_COUNT_SW_TASK_CLOCK, a high-resolution timer that runs while the thread does) and sends the
// sampling signal to it. It counts user time only, which any user may (perf_event_paranoid 2); the
// kernel's share is in the thread's CPU clock, by which samples are weighed.
//
// An event lives as long as its file. A mapping of its first page holds the file as well as a
// descriptor does, so the descriptor is closed at once: nothing appears in the program's table,
// nothing breaks when the program closes all descriptors, a forked child inherits nothing
// (VM_DONTCOPY), and exec drops it.
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/syscall.h"
#include "preload/clock.h"
#include "preload/handler.h"
#include "preload/process.h"

namespace sampan::preload {
namespace {

// The signal carries the descriptor's number at the time of F_SETFL: from the top of the range, and
// so neither one of the program's nor one that it will get.
constexpr int kFdWindow = 64;
int lowest_fd;

constexpr size_t kPage = 4096;

struct Owner {  // struct f_owner_ex
  int type;
  int pid;
};
constexpr int kSetSignal = 10;   // F_SETSIG
constexpr int kSetOwnerEx = 15;  // F_SETOWN_EX
constexpr int kOwnerThread = 0;  // F_OWNER_TID

int open_event(int tid, uint64_t period_ns) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.sample_period = period_ns;
  attributes.wakeup_events = 1;
  attributes.disabled = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  const long fd = raw_syscall(SYS_perf_event_open, &attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd < 0) return -1;
  const long high = raw_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, lowest_fd);
  raw_syscall(SYS_close, fd);
  return static_cast<int>(high);
}

bool direct_to(int fd, int tid) {
  const Owner owner{kOwnerThread, tid};
  return raw_syscall(SYS_fcntl, fd, kSetSignal, sampling_signal()) == 0 &&
         raw_syscall(SYS_fcntl, fd, kSetOwnerEx, &owner) == 0 &&
         raw_syscall(SYS_fcntl, fd, F_SETFL, O_ASYNC | O_NONBLOCK) == 0;
}

}  // namespace

bool start_perf_clock() {
  rlimit files{};
  if (raw_syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &files) != 0) return false;
  constexpr rlim_t kHighest = 1 << 20;
  const rlim_t limit = files.rlim_cur < kHighest ? files.rlim_cur : kHighest;
  if (limit < 2 * kFdWindow) return false;
  lowest_fd = static_cast<int>(limit) - kFdWindow;
  constexpr uint64_t kNeverNs = 1'000'000'000;  // it is closed at once
  const int fd = open_event(0, kNeverNs);
  if (fd < 0) return false;
  raw_syscall(SYS_close, fd);
  return true;
}

bool arm_perf(ThreadState& thread) {
  const int fd = open_event(thread.tid, period_ns(thread));
  if (fd < 0) return false;
  long page = -1;
  if (direct_to(fd, thread.tid)) {
    page = raw_syscall(SYS_mmap, nullptr, kPage, PROT_READ, MAP_SHARED, fd, 0);
  }
  const bool mapped = page > 0 || page < -4095;
  if (mapped) {
    thread.perf_page = reinterpret_cast<void*>(page);
    raw_syscall(SYS_ioctl, fd, PERF_EVENT_IOC_ENABLE, 0);
  }
  raw_syscall(SYS_close, fd);
  return mapped;
}

void disarm_perf(ThreadState& thread) {
  if (thread.perf_page == nullptr) return;
  raw_syscall(SYS_munmap, thread.perf_page, kPage);
  thread.perf_page = nullptr;
}

bool is_our_perf_fd(int fd) {
  return uses_perf_clock() && fd >= lowest_fd && fd < lowest_fd + kFdWindow;
}

}  // namespace sampan::preload
