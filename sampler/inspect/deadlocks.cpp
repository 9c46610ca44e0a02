#include "sampler/inspect/deadlocks.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "sampler/process/proc_task.h"
#include "sampler/process/remote_memory.h"

namespace sampan::sampler {
namespace {

// struct __pthread_mutex_s of glibc, on 64-bit machines (sysdeps/nptl/bits/struct_mutex.h).
struct GlibcMutex {
  uint32_t lock;
  uint32_t count;
  int32_t owner;
  uint32_t users;
  uint32_t kind;
};
// The bits of `kind`, with all that attributes may ask for (PTHREAD_MUTEX_* in nptl/pthreadP.h).
constexpr uint32_t kMutexKinds = 0x3ff;
constexpr uint32_t kWaitedFor = 2;  // of `lock`, for mutexes that are no more than that

struct Seen {
  MutexWait wait;
  RunTimes times;
};

bool is_untimed_wait(const BlockedCall& call) {
  if (call.number != SYS_futex) return false;
  constexpr uint64_t kLockPi2 = 13;  // FUTEX_LOCK_PI2, newer than some headers
  const uint64_t command = call.arguments[1] & static_cast<uint64_t>(FUTEX_CMD_MASK);
  const bool waits = command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET ||
                     command == FUTEX_LOCK_PI || command == kLockPi2;
  return waits && call.arguments[3] == 0;
}

// Whether this may be a mutex that is locked and waited for. Mutexes that are robust, or inherit priorities, have their
// owner's tid in the lock, too.
bool is_consistent(const GlibcMutex& mutex) {
  const auto owner = static_cast<uint32_t>(mutex.owner);
  return mutex.owner > 0 && (mutex.kind & ~kMutexKinds) == 0 && mutex.users != 0 &&
         (mutex.lock == kWaitedFor || mutex.lock == (owner | FUTEX_WAITERS));
}

std::optional<Seen> look(pid_t pid, pid_t tid, const std::set<pid_t>& threads) {
  const std::optional<RunTimes> times = run_times(pid, tid);
  const std::optional<BlockedCall> call = blocked_call(pid, tid);
  if (!times || !call || !is_untimed_wait(*call)) return std::nullopt;
  const auto place = Avma::at(call->arguments[0]);
  GlibcMutex mutex{};
  if (read_process(pid, place, &mutex, sizeof mutex) != sizeof mutex || !is_consistent(mutex) ||
      !threads.contains(mutex.owner)) {
    return std::nullopt;
  }
  return Seen{{tid, place, mutex.owner}, *times};
}

bool is_unchanged(pid_t pid, const Seen& seen, const std::set<pid_t>& threads) {
  const std::optional<Seen> now = look(pid, seen.wait.waiter, threads);
  return now && now->wait.mutex == seen.wait.mutex && now->wait.holder == seen.wait.holder &&
         now->times == seen.times;
}

}  // namespace

std::vector<Deadlock> find_deadlocks(pid_t pid) {
  const std::vector<pid_t> tids = thread_ids(pid);
  const std::set<pid_t> threads(tids.begin(), tids.end());
  std::map<pid_t, Seen> waits;  // by waiter
  for (const pid_t tid : tids) {
    if (const std::optional<Seen> seen = look(pid, tid, threads)) waits.emplace(tid, *seen);
  }
  std::vector<Deadlock> deadlocks;
  std::set<pid_t> done;
  for (const auto& [first, seen] : waits) {
    // Every thread waits for one other at most, so the way from it ends, or it leads into one cycle.
    std::vector<pid_t> way;
    pid_t tid = first;
    while (waits.contains(tid) && done.insert(tid).second) {
      way.push_back(tid);
      tid = waits.at(tid).wait.holder;
    }
    auto begin = std::find(way.begin(), way.end(), tid);
    if (begin == way.end()) continue;
    std::rotate(begin, std::min_element(begin, way.end()), way.end());
    Deadlock cycle;
    for (; begin != way.end(); ++begin) cycle.push_back(waits.at(*begin).wait);
    const bool holds = std::all_of(cycle.begin(), cycle.end(), [&](const MutexWait& wait) {
      return is_unchanged(pid, waits.at(wait.waiter), threads);
    });
    if (holds) deadlocks.push_back(std::move(cycle));
  }
  return deadlocks;
}

}  // namespace sampan::sampler
