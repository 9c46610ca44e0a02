#include "preload/interposers/blocking_calls.h"

#include <errno.h>
#include <sys/types.h>
#include <time.h>

#include "base/syscall.h"
#include "preload/process/process.h"
#include "preload/support/interpose.h"
#include "wire/control_block.h"

// By the names that the C library exports, with types that its headers need not agree with: those give some of them other
// names. These need nothing: calls that the kernel begins again by itself (wait4, flock, fcntl, open of a FIFO, mq_receive), and
// calls for which the C library does so (pthread_cond_timedwait, pthread_mutex_timedlock). Those with a mask are in
// signal_wait.cpp.
//
// CALL(result, name, parameters, arguments)
#define SAMPAN_BLOCKING_CALLS(CALL)                                                                \
  CALL(ssize_t, read, (int fd, void* to, size_t size), (fd, to, size))                             \
  CALL(ssize_t, __read_chk, (int fd, void* to, size_t size, size_t room), (fd, to, size, room))    \
  CALL(ssize_t, write, (int fd, const void* from, size_t size), (fd, from, size))                  \
  CALL(ssize_t, readv, (int fd, const void* parts, int count), (fd, parts, count))                 \
  CALL(ssize_t, writev, (int fd, const void* parts, int count), (fd, parts, count))                \
  CALL(ssize_t, pread, (int fd, void* to, size_t size, off_t at), (fd, to, size, at))              \
  CALL(ssize_t, pread64, (int fd, void* to, size_t size, off_t at), (fd, to, size, at))            \
  CALL(ssize_t, pwrite, (int fd, const void* from, size_t size, off_t at), (fd, from, size, at))   \
  CALL(ssize_t, pwrite64, (int fd, const void* from, size_t size, off_t at), (fd, from, size, at)) \
  CALL(ssize_t, send, (int fd, const void* from, size_t size, int flags), (fd, from, size, flags)) \
  CALL(ssize_t, sendto,                                                                            \
       (int fd, const void* from, size_t size, int flags, const void* to, unsigned length),        \
       (fd, from, size, flags, to, length))                                                        \
  CALL(ssize_t, sendmsg, (int fd, const void* message, int flags), (fd, message, flags))           \
  CALL(int, sendmmsg, (int fd, void* messages, unsigned count, int flags),                         \
       (fd, messages, count, flags))                                                               \
  CALL(ssize_t, recv, (int fd, void* to, size_t size, int flags), (fd, to, size, flags))           \
  CALL(ssize_t, __recv_chk, (int fd, void* to, size_t size, size_t room, int flags),               \
       (fd, to, size, room, flags))                                                                \
  CALL(ssize_t, recvfrom,                                                                          \
       (int fd, void* to, size_t size, int flags, void* from, unsigned* length),                   \
       (fd, to, size, flags, from, length))                                                        \
  CALL(ssize_t, __recvfrom_chk,                                                                    \
       (int fd, void* to, size_t size, size_t room, int flags, void* from, unsigned* length),      \
       (fd, to, size, room, flags, from, length))                                                  \
  CALL(ssize_t, recvmsg, (int fd, void* message, int flags), (fd, message, flags))                 \
  CALL(int, recvmmsg, (int fd, void* messages, unsigned count, int flags, void* timeout),          \
       (fd, messages, count, flags, timeout))                                                      \
  CALL(int, accept, (int fd, void* from, unsigned* length), (fd, from, length))                    \
  CALL(int, accept4, (int fd, void* from, unsigned* length, int flags), (fd, from, length, flags)) \
  CALL(int, connect, (int fd, const void* to, unsigned length), (fd, to, length))                  \
  CALL(ssize_t, sendfile, (int to, int from, off_t* at, size_t size), (to, from, at, size))        \
  CALL(ssize_t, sendfile64, (int to, int from, off_t* at, size_t size), (to, from, at, size))      \
  CALL(ssize_t, splice,                                                                            \
       (int from, off_t* from_at, int to, off_t* to_at, size_t size, unsigned flags),              \
       (from, from_at, to, to_at, size, flags))                                                    \
  CALL(ssize_t, tee, (int from, int to, size_t size, unsigned flags), (from, to, size, flags))     \
  CALL(ssize_t, vmsplice, (int fd, const void* parts, size_t count, unsigned flags),               \
       (fd, parts, count, flags))                                                                  \
  CALL(ssize_t, copy_file_range,                                                                   \
       (int from, off_t* from_at, int to, off_t* to_at, size_t size, unsigned flags),              \
       (from, from_at, to, to_at, size, flags))                                                    \
  CALL(int, fallocate, (int fd, int mode, off_t at, off_t size), (fd, mode, at, size))             \
  CALL(int, fallocate64, (int fd, int mode, off_t at, off_t size), (fd, mode, at, size))           \
  CALL(int, posix_fallocate, (int fd, off_t at, off_t size), (fd, at, size))                       \
  CALL(int, posix_fallocate64, (int fd, off_t at, off_t size), (fd, at, size))                     \
  CALL(ssize_t, getrandom, (void* to, size_t size, unsigned flags), (to, size, flags))             \
  CALL(int, ioctl, (int fd, unsigned long request, void* argument), (fd, request, argument))       \
  CALL(int, poll, (void* files, unsigned long count, int timeout), (files, count, timeout))        \
  CALL(int, __poll_chk, (void* files, unsigned long count, int timeout, size_t room),              \
       (files, count, timeout, room))                                                              \
  CALL(int, select, (int count, void* read, void* write, void* except, void* timeout),             \
       (count, read, write, except, timeout))                                                      \
  CALL(int, epoll_wait, (int fd, void* events, int count, int timeout),                            \
       (fd, events, count, timeout))                                                               \
  CALL(int, nanosleep, (const timespec* time, timespec* left), (time, left))                       \
  CALL(int, clock_nanosleep, (clockid_t clock, int flags, const timespec* time, timespec* left),   \
       (clock, flags, time, left))                                                                 \
  CALL(int, usleep, (unsigned us), (us))                                                           \
  CALL(unsigned, sleep, (unsigned seconds), (seconds))                                             \
  CALL(int, thrd_sleep, (const timespec* time, timespec* left), (time, left))                      \
  CALL(int, pause, (), ())                                                                         \
  CALL(int, msgsnd, (int id, const void* from, size_t size, int flags), (id, from, size, flags))   \
  CALL(ssize_t, msgrcv, (int id, void* to, size_t size, long type, int flags),                     \
       (id, to, size, type, flags))                                                                \
  CALL(int, semop, (int id, void* operations, size_t count), (id, operations, count))              \
  CALL(int, semtimedop, (int id, void* operations, size_t count, const timespec* timeout),         \
       (id, operations, count, timeout))                                                           \
  CALL(int, sem_timedwait, (void* semaphore, const timespec* end), (semaphore, end))               \
  CALL(int, sem_clockwait, (void* semaphore, clockid_t clock, const timespec* end),                \
       (semaphore, clock, end))                                                                    \
  CALL(int, aio_suspend, (const void* requests, int count, const timespec* timeout),               \
       (requests, count, timeout))                                                                 \
  CALL(int, aio_suspend64, (const void* requests, int count, const timespec* timeout),             \
       (requests, count, timeout))

#define SAMPAN_LOOK_UP(result, name, parameters, arguments) next<result parameters, #name>();

// Without a drummer, a jump: the call appears in no stack. A program may ask by dlsym whether a function exists, and find ours where the
// C library is older. Weak: where locks are recorded, waits for semaphores have wrappers of their own.
#define SAMPAN_DEFINE(result, name, parameters, arguments)                          \
  SAMPAN_EXPORT __attribute__((weak)) result blocking_##name parameters asm(#name); \
  result blocking_##name parameters {                                               \
    auto* const original = next<result parameters, #name>();                        \
    if (original == nullptr) return no_such_call();                                 \
    if (!::sampan::preload::drum_clock::in_use()) return original arguments;        \
    const Blocking call;                                                            \
    return original arguments;                                                      \
  }

namespace sampan::preload {
namespace {

wire::Drum& drum_of(const ThreadState& thread) {
  return wire::thread_slot(this_process.shared, thread.slot)->drum;
}

// A child that was forked past our functions lacks the memory that is shared with the drummer: Firefox's sandbox begins one by
// clone() and a jump.
bool has_drum() {
  return this_process.started.load(std::memory_order_relaxed) && *this_process.fork_marker != 0;
}

int no_such_call() {
  errno = ENOSYS;
  return -1;
}

}  // namespace

void look_up_blocking_calls() {
  SAMPAN_BLOCKING_CALLS(SAMPAN_LOOK_UP)
}

// In a vfork child this is its parent's thread, which sleeps.
void Blocking::enter() {
  if (!has_drum() || this_process.seccomp_filtered.load(std::memory_order_relaxed)) return;
  thread_ = begun_thread();
  if (thread_ != nullptr) before_ = wire::enter_call(drum_of(*thread_));
}

void Blocking::leave() {
  wire::leave_call(drum_of(*thread_), before_);
}

void leave_blocking_calls() {
  if (!drum_clock::in_use() || !has_drum()) return;
  if (const ThreadState* thread = begun_thread()) drum_of(*thread).in_call.store(0);
}

bool is_blocking_call(long number) {
  switch (number) {
    case SYS_futex:
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_epoll_pwait:
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_io_getevents:
    case SYS_semtimedop:
    case SYS_getrandom:
    case SYS_read:
    case SYS_write:
    case 426:  // io_uring_enter
    case 441:  // epoll_pwait2
      return true;
    default: return false;
  }
}

}  // namespace sampan::preload

using namespace sampan::preload;

SAMPAN_BLOCKING_CALLS(SAMPAN_DEFINE)
