#include "preload/signals/alternate_stack.h"

#include <errno.h>
#include <sys/auxv.h>
#include <ucontext.h>

#include "base/syscall.h"
#include "preload/process/process.h"
#include "preload/signals/signal_action.h"
#include "preload/support/interpose.h"
#include "preload/support/machine.h"

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

namespace sampan::preload {
namespace {

// From this size on there is room for a frame of ours below a handler of the program's.
constexpr size_t kRoomy = 32 << 10;
constexpr int kAutodisarm = static_cast<int>(1u << 31);  // SS_AUTODISARM of linux/signal.h

std::atomic<bool> small_stacks = false;

// Whether a stack of that size holds a signal frame, and what the handler uses below it.
bool has_room(size_t size) {
  const int before = errno;
  const size_t largest = SAMPAN_NEXT(getauxval)(AT_MINSIGSTKSZ);
  errno = before;  // ENOENT from a kernel that does not say
  size_t frame = largest != 0 ? largest : kLeastAlternateStack;
  if (size < frame && frame > kLeastAlternateStack + kOptionalInFrame) frame -= kOptionalInFrame;
  return size >= frame + kHandlerSize;
}

long kernel_stack(const stack_t* wanted, stack_t* before) {
  return raw_syscall(SYS_sigaltstack, wanted, before);
}

bool contains(const stack_t& stack, const void* address) {
  const auto low = reinterpret_cast<uint64_t>(stack.ss_sp);
  const auto value = reinterpret_cast<uint64_t>(address);
  return value >= low && value - low < stack.ss_size;
}

bool is_set(const stack_t& stack) {
  return (stack.ss_flags & SS_DISABLE) == 0;
}

bool is_ours(const SignalState& state, const stack_t& kernel) {
  return is_set(kernel) && state.our_alternate_stack.ss_size != 0 &&
         kernel.ss_sp == state.our_alternate_stack.ss_sp;
}

void note_program_stack(size_t size) {
  if (size >= kRoomy || small_stacks.load(std::memory_order_relaxed) ||
      this_process.seccomp_filtered.load(std::memory_order_relaxed)) {
    return;
  }
  const SignalLock locked;
  small_stacks.store(true, std::memory_order_relaxed);
  keep_samples_off_alternate_stacks();
}

stack_t disabled() {
  stack_t stack{};
  stack.ss_flags = SS_DISABLE;
  return stack;
}

// The kernel's answer, with our stack in its place or the program's.
stack_t shown(const SignalState& state, const stack_t& kernel) {
  if (!is_ours(state, kernel)) return kernel;
  if (state.program_alternate_stack.ss_size == 0) return disabled();
  stack_t stack = state.program_alternate_stack;
  // The program's handlers run on ours instead of one that is too small, or that was set in a handler on ours.
  if ((kernel.ss_flags & SS_ONSTACK) != 0) stack.ss_flags |= SS_ONSTACK;
  return stack;
}

// What the kernel would answer, as 0 or an errno.
int check(const stack_t& wanted, const stack_t& now) {
  if ((now.ss_flags & SS_ONSTACK) != 0) return EPERM;
  const int mode = wanted.ss_flags & ~kAutodisarm;
  if (mode != SS_DISABLE && mode != SS_ONSTACK && mode != 0) return EINVAL;
  return mode != SS_DISABLE && wanted.ss_size < kLeastAlternateStack ? ENOMEM : 0;
}

int set_stack(SignalState& state, const stack_t& wanted, const stack_t& kernel) {
  if (const int error = check(wanted, shown(state, kernel)); error != 0) return error;
  if (is_set(wanted)) note_program_stack(wanted.ss_size);
  // A handler of the program's that runs on ours may set another one. The kernel refuses, and the next sample sets it.
  state.stack_waits = is_ours(state, kernel) && (kernel.ss_flags & SS_ONSTACK) != 0;
  if (!state.stack_waits) {
    const bool ours =
        state.our_alternate_stack.ss_size != 0 && (!is_set(wanted) || !has_room(wanted.ss_size));
    const long result = kernel_stack(ours ? &state.our_alternate_stack : &wanted, nullptr);
    if (result < 0) return static_cast<int>(-result);
  }
  state.program_alternate_stack = is_set(wanted) ? wanted : stack_t{};
  return 0;
}

void set_our_stack(SignalState& state, std::span<uint8_t> stack) {
  state.our_alternate_stack = {};
  state.our_alternate_stack.ss_sp = stack.data();
  state.our_alternate_stack.ss_size = stack.size();
}

}  // namespace

bool program_has_small_alternate_stacks() {
  return small_stacks.load(std::memory_order_relaxed);
}

bool on_small_alternate_stack(const SignalState& state) {
  return state.program_alternate_stack.ss_size < kRoomy &&
         contains(state.program_alternate_stack, __builtin_frame_address(0));
}

void adopt_thread_signals(SignalState& state, uint64_t inherited_hidden, std::span<uint8_t> stack) {
  const uint64_t hidden = hidden_signals();
  const uint64_t blocked = change_kernel_mask(SIG_UNBLOCK, hidden) & hidden;
  state.set_hidden(blocked | inherited_hidden);
  settle_hidden(state);
  set_our_stack(state, stack);
  state.program_alternate_stack = {};
  stack_t now{};
  if (kernel_stack(nullptr, &now) != 0) return;
  if (is_set(now)) {
    note_program_stack(now.ss_size);
    state.program_alternate_stack = now;
    if (has_room(now.ss_size) || (now.ss_flags & SS_ONSTACK) != 0) return;
  }
  kernel_stack(&state.our_alternate_stack, nullptr);
}

bool release_thread_signals(SignalState& state) {
  stack_t now{};
  if (kernel_stack(nullptr, &now) != 0 || !is_ours(state, now)) return true;
  const stack_t none = disabled();
  const bool small = state.program_alternate_stack.ss_size != 0;
  if (kernel_stack(small ? &state.program_alternate_stack : &none, nullptr) != 0) return false;
  state.our_alternate_stack = {};
  return true;
}

void follow_alternate_stack(SignalState& state, std::span<uint8_t> stack, void* ucontext) {
  stack_t& kernel = static_cast<ucontext_t*>(ucontext)->uc_stack;
  stack_t& program = state.program_alternate_stack;
  if (is_ours(state, kernel)) {
    if (program.ss_size < kRoomy) return;
    if (state.stack_waits) {
      kernel = program;
    } else {  // The program has put ours back as the one that it had found.
      program = {};
    }
    state.stack_waits = false;
    return;
  }
  if (state.our_alternate_stack.ss_size == 0) set_our_stack(state, stack);
  if (is_set(kernel)) {
    program = kernel;
    note_program_stack(kernel.ss_size);
  } else if ((program.ss_flags & kAutodisarm) == 0) {
    program = {};
    kernel = state.our_alternate_stack;
  }
}

void look_at_alternate_stack(const SignalState& state) {
  stack_t now{};
  if (kernel_stack(nullptr, &now) == 0 && is_set(now) && !is_ours(state, now)) {
    note_program_stack(now.ss_size);
  }
}

int change_alternate_stack(SignalState* state, const stack_t* wanted, stack_t* before) {
  if (state == nullptr) {
    if (wanted != nullptr && is_set(*wanted) && signals_active()) {
      note_program_stack(wanted->ss_size);
    }
    return static_cast<int>(kernel_stack(wanted, before));
  }
  stack_t kernel{};
  long result = kernel_stack(nullptr, &kernel);
  const stack_t now = shown(*state, kernel);
  if (result == 0 && wanted != nullptr) result = -set_stack(*state, *wanted, kernel);
  if (result == 0 && before != nullptr) *before = now;
  return static_cast<int>(result);
}

}  // namespace sampan::preload
