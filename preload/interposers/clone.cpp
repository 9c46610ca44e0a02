// clone, as programs call it that make threads or processes of their own kind. A process with memory of its own joins the session
// as after fork(); one that shares ours (CLONE_VM without CLONE_THREAD) is left alone, as after vfork().
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

#include "base/syscall.h"
#include "preload/interposers/process_life.h"
#include "preload/process/process.h"
#include "preload/support/interpose.h"
#include "preload/threads/threads.h"

namespace sampan::preload {
namespace {

// On the stack of the parent, of which the child has a copy.
struct Child {
  int (*entry)(void*);
  void* argument;
  ForkState fork;
};

// The first fields of what clone3 takes (linux/sched.h).
struct CloneArguments {
  uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
};

constexpr bool is_fork(uint64_t flags) {
  return (flags & (uint64_t{CLONE_VM} | CLONE_SETTLS)) == 0;
}

#ifdef SYS_fork
constexpr long kForkCall = SYS_fork;
#else
constexpr long kForkCall = -1;
#endif

// Ends in a tail call, so that it appears in no stack.
int run_child(void* started) {
  const auto& child = *static_cast<const Child*>(started);
  int (*const entry)(void*) = child.entry;
  void* const argument = child.argument;
  end_fork_in_child(child.fork);
  return entry(argument);
}

}  // namespace

bool is_fork_call(long number, long a, long b) {
  if (number == kForkCall) return true;
  if (number == SYS_clone) return b == 0 && is_fork(static_cast<uint64_t>(a));
  if (number != SYS_clone3 || static_cast<size_t>(b) < sizeof(CloneArguments)) return false;
  // The program's pointer may be wrong. Then the kernel says so, not a fault in here.
  CloneArguments given{};
  const iovec ours{&given, sizeof given};
  const iovec theirs{reinterpret_cast<void*>(a), sizeof given};
  return raw_syscall(SYS_process_vm_readv, raw_syscall(SYS_getpid), &ours, 1, &theirs, 1, 0) ==
             long{sizeof given} &&
         given.stack == 0 && is_fork(given.flags);
}

}  // namespace sampan::preload

SAMPAN_EXPORT int clone(int (*entry)(void*), void* stack, int flags, void* argument, ...) noexcept {
  using namespace sampan::preload;
  va_list list;
  va_start(list, argument);
  auto* const parent_tid = va_arg(list, pid_t*);
  auto* const tls = va_arg(list, void*);
  auto* const child_tid = va_arg(list, pid_t*);
  va_end(list);
  auto* const original = SAMPAN_NEXT(clone);
  const bool forks = is_fork(static_cast<unsigned>(flags)) && entry != nullptr && stack != nullptr;
  if (forks && active() &&
      (this_process.seccomp_filtered.load(std::memory_order_relaxed) || !in_vfork_child())) {
    Child child{entry, argument, begin_fork()};
    const int pid = original(run_child, stack, flags, &child, parent_tid, tls, child_tid);
    const int saved_errno = errno;
    end_fork_in_parent(child.fork);
    errno = saved_errno;
    return pid;
  }
  const int tid = original(entry, stack, flags, argument, parent_tid, tls, child_tid);
  if (tid > 0 && (flags & CLONE_THREAD) != 0 && active()) {
    if (ThreadState* thread = claim_slot()) begin_thread(*thread, tid, 0);
  }
  return tid;
}
