// The calling thread's mask. The program sees the mask that it set; the kernel has it without the
// hidden signals. Async-signal-safe, like the originals.
#include "preload/interposers/signal_mask.h"

#include <errno.h>
#include <pthread.h>

#include "preload/signals/alternate_stack.h"
#include "preload/support/interpose.h"
#include "preload/threads/threads.h"

namespace sampan::preload {
namespace {

uint64_t changed(uint64_t mask, int how, uint64_t bits) {
  if (how == SIG_BLOCK) return mask | bits;
  return how == SIG_UNBLOCK ? mask & ~bits : bits;
}

}  // namespace

uint64_t change_program_mask(int how, uint64_t bits) {
  SignalState* state = current_signals();
  if (state != nullptr) settle_hidden(*state);
  const uint64_t hidden = hidden_signals();
  const uint64_t sampling = signal_bit(sampling_signal());
  uint64_t kernel_bits = bits;
  if (state != nullptr && on_small_alternate_stack(*state)) {
    // In a handler of the program's, during which we block the sampling signal: it stays blocked.
    if (how == SIG_SETMASK) kernel_bits |= kernel_mask() & sampling;
    if (how == SIG_UNBLOCK) kernel_bits &= ~sampling;
  } else {
    // Every unblocking unblocks them too: a longjmp out of such a handler may have left them blocked.
    kernel_bits = how == SIG_UNBLOCK ? kernel_bits | hidden : kernel_bits & ~hidden;
  }
  const uint64_t kernel_before = change_kernel_mask(how, kernel_bits);
  if (state == nullptr) return kernel_before;
  const uint64_t hidden_before = state->hidden.load(std::memory_order_relaxed);
  // What was blocked unseen stays so, in the kernel, until the program unblocks it.
  const uint64_t unseen = kernel_before & hidden & ~hidden_before & ~state->added;
  const uint64_t stays = changed(unseen, how, bits) & unseen;
  if (stays != 0) change_kernel_mask(SIG_BLOCK, stays);
  state->set_hidden(changed(hidden_before, how, bits) & hidden & ~stays);
  deliver_held(state);
  return (kernel_before & ~state->added) | hidden_before;
}

namespace {

// Returns an error number, as pthread_sigmask does.
int change_mask(int how, const sigset_t* wanted, sigset_t* before) {
  if (wanted != nullptr && how != SIG_BLOCK && how != SIG_UNBLOCK && how != SIG_SETMASK) {
    return EINVAL;
  }
  const uint64_t bits = wanted != nullptr ? signal_bits(*wanted) & ~kLibcSignals : 0;
  const int action = wanted != nullptr ? how : SIG_BLOCK;
  const uint64_t mask =
      signals_active() ? change_program_mask(action, bits) : change_kernel_mask(action, bits);
  if (before != nullptr) set_signal_bits(*before, mask);
  return 0;
}

int change_mask_errno(int how, const sigset_t* wanted, sigset_t* before) {
  const int error = change_mask(how, wanted, before);
  if (error == 0) return 0;
  errno = error;
  return -1;
}

int change_one(int how, int signo) {
  if (!is_signal(signo)) {
    errno = EINVAL;
    return -1;
  }
  const sigset_t one = signal_set(signal_bit(signo));
  return change_mask_errno(how, &one, nullptr);
}

// The BSD calls know the first 32 signals and leave the others alone.
int change_bsd_mask(int how, int mask) {
  const uint64_t word = static_cast<unsigned>(mask);
  sigset_t set = signal_set(word);
  sigset_t before{};
  if (how == SIG_SETMASK) {
    change_mask(SIG_BLOCK, nullptr, &before);
    set_signal_bits(set, (signal_bits(before) & ~uint64_t{0xffffffff}) | word);
  }
  change_mask(how, &set, &before);
  return static_cast<int>(signal_bits(before) & 0xffffffff);
}

}  // namespace
}  // namespace sampan::preload

using namespace sampan::preload;

SAMPAN_EXPORT int sigprocmask(int how, const sigset_t* wanted, sigset_t* before) noexcept {
  return change_mask_errno(how, wanted, before);
}
SAMPAN_EXPORT int pthread_sigmask(int how, const sigset_t* wanted, sigset_t* before) noexcept {
  return change_mask(how, wanted, before);
}

SAMPAN_EXPORT int sighold(int signo) noexcept {
  return change_one(SIG_BLOCK, signo);
}
SAMPAN_EXPORT int sigrelse(int signo) noexcept {
  return change_one(SIG_UNBLOCK, signo);
}
SAMPAN_EXPORT int sigblock(int mask) noexcept {
  return change_bsd_mask(SIG_BLOCK, mask);
}
SAMPAN_EXPORT int sigsetmask(int mask) noexcept {
  return change_bsd_mask(SIG_SETMASK, mask);
}
SAMPAN_EXPORT int siggetmask() noexcept {
  return change_bsd_mask(SIG_BLOCK, 0);
}

SAMPAN_EXPORT int sigpending(sigset_t* pending) noexcept {
  const int result = SAMPAN_NEXT(sigpending)(pending);
  if (result != 0 || !signals_active()) return result;
  const SignalState* state = current_signals();
  uint64_t bits = signal_bits(*pending) & ~signal_bit(sampling_signal());
  if (state != nullptr && has_held_signal()) {
    bits |= state->hidden.load(std::memory_order_relaxed) & signal_bit(sampling_signal());
  }
  set_signal_bits(*pending, bits);
  return 0;
}
