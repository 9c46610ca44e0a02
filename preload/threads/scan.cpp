
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/syscall.h"
#include "preload/process/process.h"
#include "preload/support/decimal.h"
#include "preload/threads/threads.h"
#include "wire/record.h"

namespace sampan::preload {
namespace {

constexpr uint64_t kInterval = 100'000'000;
// CPU that a thread may have used since its last sample, and that may be missing otherwise.
constexpr uint64_t kThreadSlack = 5'000'000;
constexpr uint64_t kSlack = 20'000'000;

std::atomic<uint64_t> next_look_ns;
std::atomic<uint64_t> unexplained_ns;  // at the last scan
SpinLock lock;

struct DirectoryEntry {  // linux_dirent64
  uint64_t inode;
  int64_t offset;
  uint16_t size;
  uint8_t type;
  char name[1];
};

int32_t parse_tid(const char* name) {
  int32_t tid = 0;
  for (; *name >= '0' && *name <= '9'; ++name) tid = tid * 10 + (*name - '0');
  return tid;
}

// A thread is adopted when two scans in a row have seen it: by then, a thread of pthread_create has a slot. A place is not
// given to another thread before it is adopted, or gone: who finds none waits for the next scan.
constexpr size_t kRemembered = 1024;
struct Seen {
  int32_t tid;
  uint32_t scan;
};
Seen seen[kRemembered];
uint32_t scans;             // so far
std::atomic<bool> has_new;  // the latest scan saw threads that the next one adopts

bool seen_before(int32_t tid) {
  Seen& place = seen[static_cast<size_t>(tid) % kRemembered];
  const bool is_taken = place.scan + 1 >= scans;
  if (place.tid == tid && is_taken) {
    place = {};
    return true;
  }
  has_new.store(true, std::memory_order_relaxed);
  if (!is_taken || place.tid == 0) place = {tid, scans};
  return false;
}

// Reads the name of another thread by the entry of its tid in /proc/self/task.
void read_name(int directory, const char* entry, char (&name)[wire::kThreadNameSize]) {
  char path[32] = {};
  if (strlen(entry) + sizeof "/comm" > sizeof path) return;
  strcpy(stpcpy(path, entry), "/comm");
  const long fd = raw_syscall(SYS_openat, directory, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  const long size = raw_syscall(SYS_read, fd, name, sizeof name);
  raw_syscall(SYS_close, fd);
  if (size > 0) name[size - 1] = '\0';  // the newline
}

void adopt_when_seen_twice(int directory, const char* entry) {
  const int32_t tid = parse_tid(entry);
  if (tid == 0) return;  // "." and ".."

  if (thread_by_tid(tid) != nullptr || !seen_before(tid)) return;
  const uint64_t cpu = read_clock_ns(thread_cpu_clock(tid));
  ThreadState* thread = claim_slot();
  if (thread == nullptr) return;
  char name[wire::kThreadNameSize] = {};
  read_name(directory, entry, name);
  begin_thread(*thread, tid, cpu, name);
}

void adopt_unknown(int directory) {
  alignas(DirectoryEntry) char buffer[512];
  for (;;) {
    const long size = raw_syscall(SYS_getdents64, directory, buffer, sizeof buffer);
    if (size <= 0) return;
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const DirectoryEntry*>(buffer + at);
      adopt_when_seen_twice(directory, entry->name);
      at += entry->size;
    }
  }
}

// In a new PID namespace, the /proc of another one shows our threads by numbers that are not theirs here.
bool has_own_numbers(long directory) {
  char tid[12];
  write_decimal(tid, static_cast<int>(raw_syscall(SYS_gettid)));
  return raw_syscall(SYS_faccessat, directory, tid, F_OK) == 0;
}

// Timers outlive their threads.
void end_gone() {
  for_each_thread([](ThreadState& thread) {
    const int32_t tid = thread.tid;
    if (raw_syscall(SYS_tgkill, this_process.pid, tid, 0) == -ESRCH) end_thread(thread, tid, 0);
  });
}

}  // namespace

void scan_threads() {
  if (under_filter()) return;
  const SignalsBlocked blocked;
  if (!lock.try_lock()) return;
  keeps_sampling_signal();
  ++scans;
  has_new.store(false, std::memory_order_relaxed);
  const long directory =
      raw_syscall(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    if (has_own_numbers(directory)) adopt_unknown(static_cast<int>(directory));
    raw_syscall(SYS_close, directory);
    end_gone();
  }
  lock.unlock();
}

void scan_when_due(uint64_t now_ns) {
  uint64_t due = next_look_ns.load(std::memory_order_relaxed);
  if (now_ns < due || !next_look_ns.compare_exchange_strong(due, now_ns + kInterval)) return;
  const uint64_t used = read_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  const uint64_t explained = explained_cpu_ns();
  const uint64_t unexplained = used > explained ? used - explained : 0;
  uint64_t threads = 0;
  for_each_thread([&threads](const ThreadState&) { ++threads; });
  if (unexplained <
          unexplained_ns.load(std::memory_order_relaxed) + kSlack + threads * kThreadSlack &&
      !has_new.load(std::memory_order_relaxed)) {
    return;
  }
  unexplained_ns.store(unexplained, std::memory_order_relaxed);
  scan_threads();
}

void scan_after_fork() {
  lock.unlock();
  next_look_ns.store(0, std::memory_order_relaxed);
  unexplained_ns.store(0, std::memory_order_relaxed);
}

}  // namespace sampan::preload
