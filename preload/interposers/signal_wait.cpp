// Calls that wait for signals, or wait under another mask. Sampling moves away from signals that the
// program waits for; masks go to the kernel without the hidden signals.
//
// The originals are cancellation points. So they are called, and not the system calls.
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>

#include <optional>

#include "base/clock.h"
#include "preload/interposers/blocking_calls.h"
#include "preload/interposers/signal_action.h"
#include "preload/signals/handler_view.h"
#include "preload/support/interpose.h"
#include "preload/threads/threads.h"

namespace sampan::preload {
namespace {

constexpr uint64_t kNanoseconds = 1'000'000'000;

// The mask of a call that waits under it. Null stays null.
class MaskForNow {
 public:
  explicit MaskForNow(const sigset_t* mask) : mask_(mask) {
    if (mask == nullptr || !signals_active()) return;
    SignalState* state = current_signals();
    if (state != nullptr) settle_hidden(*state);
    const uint64_t hidden = hidden_signals();
    kernel_ = signal_set(signal_bits(*mask) & ~hidden);
    mask_ = &kernel_;
    if (state == nullptr) return;
    temporary_.emplace(*state, signal_bits(*mask) & hidden);
    deliver_held(state);
  }
  MaskForNow(const MaskForNow&) = delete;
  MaskForNow& operator=(const MaskForNow&) = delete;

  const sigset_t* get() const { return mask_; }

 private:
  const Blocking call_;
  const sigset_t* mask_;
  sigset_t kernel_;
  std::optional<TemporaryMask> temporary_;
};

sigset_t waited_set(const sigset_t& set) {
  if (!signals_active()) return set;
  const uint64_t waited = give_waited_to_program(signal_bits(set));
  if (SignalState* state = current_signals(); state != nullptr) settle_hidden(*state);
  return signal_set(waited);
}

// sigtimedwait that skips late signals of ours.
int wait_for(const sigset_t& set, siginfo_t* info, const timespec* timeout) {
  const Blocking call;
  const sigset_t waited = waited_set(set);
  const uint64_t begin = monotonic_ns();
  timespec left = timeout != nullptr ? *timeout : timespec{};
  siginfo_t received;
  for (;;) {
    const int signo =
        SAMPAN_NEXT(sigtimedwait)(&waited, &received, timeout != nullptr ? &left : nullptr);
    if (signo < 0) return signo;
    if (!sent_by_clock(received)) {
      if (info != nullptr) *info = received;
      return signo;
    }
    if (timeout == nullptr) continue;
    const uint64_t asked = static_cast<uint64_t>(timeout->tv_sec) * kNanoseconds +
                           static_cast<uint64_t>(timeout->tv_nsec);
    const uint64_t gone = monotonic_ns() - begin;
    const uint64_t rest = gone < asked ? asked - gone : 0;
    left = {static_cast<time_t>(rest / kNanoseconds), static_cast<long>(rest % kNanoseconds)};
  }
}

int suspend_under(uint64_t mask) {
  const sigset_t set = signal_set(mask);
  const MaskForNow now(&set);
  return SAMPAN_NEXT(sigsuspend)(now.get());
}

// sigpause of System V: waits with one signal unblocked.
int suspend_without(int signo) {
  if (!is_signal(signo)) {
    errno = EINVAL;
    return -1;
  }
  sigset_t mask;
  sigprocmask(SIG_BLOCK, nullptr, &mask);
  return suspend_under(signal_bits(mask) & ~signal_bit(signo));
}

// sigpause of BSD: waits under a mask of the first 32 signals.
int suspend_under_bsd(int mask) {
  return suspend_under(static_cast<unsigned>(mask));
}

}  // namespace

}  // namespace sampan::preload

using namespace sampan::preload;

SAMPAN_EXPORT int sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* timeout) {
  return wait_for(*set, info, timeout);
}
SAMPAN_EXPORT int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
  return wait_for(*set, info, nullptr);
}
SAMPAN_EXPORT int sigwait(const sigset_t* set, int* signo) {
  const int errno_before = errno;
  int result;
  do {
    result = wait_for(*set, nullptr, nullptr);
  } while (result < 0 && errno == EINTR);
  const int error = errno;
  errno = errno_before;
  if (result < 0) return error;
  *signo = result;
  return 0;
}

SAMPAN_EXPORT int signalfd(int fd, const sigset_t* set, int flags) noexcept {
  const sigset_t waited = waited_set(*set);
  return SAMPAN_NEXT(signalfd)(fd, &waited, flags);
}

SAMPAN_EXPORT int sigsuspend(const sigset_t* mask) {
  const MaskForNow now(mask);
  return SAMPAN_NEXT(sigsuspend)(now.get());
}
SAMPAN_EXPORT int __sigpause(int signo_or_mask, int is_signo) {
  return is_signo != 0 ? suspend_without(signo_or_mask) : suspend_under_bsd(signo_or_mask);
}
SAMPAN_EXPORT int __xpg_sigpause(int signo) {
  return suspend_without(signo);
}

SAMPAN_EXPORT int ppoll(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask) {
  const MaskForNow now(mask);
  return SAMPAN_NEXT(ppoll)(fds, count, timeout, now.get());
}
SAMPAN_EXPORT int __ppoll_chk(pollfd* fds, nfds_t count, const timespec* timeout,
                              const sigset_t* mask, size_t size) {
  const MaskForNow now(mask);
  return next<int(pollfd*, nfds_t, const timespec*, const sigset_t*, size_t), "__ppoll_chk">()(
      fds, count, timeout, now.get(), size);
}
SAMPAN_EXPORT int pselect(int count, fd_set* read, fd_set* write, fd_set* except,
                          const timespec* timeout, const sigset_t* mask) {
  const MaskForNow now(mask);
  return SAMPAN_NEXT(pselect)(count, read, write, except, timeout, now.get());
}
SAMPAN_EXPORT int epoll_pwait(int fd, epoll_event* events, int count, int timeout,
                              const sigset_t* mask) {
  const MaskForNow now(mask);
  return SAMPAN_NEXT(epoll_pwait)(fd, events, count, timeout, now.get());
}
SAMPAN_EXPORT int epoll_pwait2(int fd, epoll_event* events, int count, const timespec* timeout,
                               const sigset_t* mask) {
  const MaskForNow now(mask);
  return SAMPAN_NEXT(epoll_pwait2)(fd, events, count, timeout, now.get());
}
