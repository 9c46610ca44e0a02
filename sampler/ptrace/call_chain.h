// A few system calls that a stopped thread of another process makes for us. Afterwards the thread
// goes on where it was, even if we are killed meanwhile.
//
// To set a thread's registers, wait for a call, and set them back would leave the thread with wrong
// registers if we were killed in between. So the chain includes the way back: each call is followed
// by rt_sigreturn, with a signal frame whose registers make the next call; the last frame has the
// thread's own registers. One PTRACE_SETREGS starts the chain. It needs two places in the program's
// code (CallSite) and memory that nothing else uses.
//
// Layout of a frame: struct rt_sigframe of arch/x86/include/asm/sigframe.h, whose ucontext is that
// of <ucontext.h> up to the mask. x86-64.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace sampan::sampler {

// The places in a process's own code that a chain uses: nothing is ever written into code.
struct CallSite {
  uint64_t call;           // AVMA of `syscall; ret`
  uint64_t signal_return;  // AVMA of `mov $15, %rax; syscall`: what handlers return to
};

// Searches the code of the C library, the program and the vdso, which are never unloaded. Nothing
// when one of the two is missing (right after exec, the C library is not loaded yet).
std::optional<CallSite> find_call_site(pid_t pid);

// The state that a thread gets back.
struct ThreadState {
  user_regs_struct registers;
  uint64_t signal_mask;
  std::vector<std::byte> vectors;  // of the regset NT_X86_XSTATE: x87, SSE, AVX …
};

class CallChain {
 public:
  // The chain lies from `base` (AVMA, a multiple of 64) upwards, and has up to `most_calls` calls.
  CallChain(uint64_t base, size_t most_calls);

  // Adds bytes for a call to point to; returns their AVMA.
  uint64_t place(std::span<const std::byte> bytes);
  template <typename T>
  requires std::is_trivially_copyable_v<T> uint64_t place(const T& value) {
    return place(std::as_bytes(std::span(&value, 1)));
  }
  // Adds a call; returns its number in the chain.
  size_t add(long system_call, std::initializer_list<uint64_t> arguments);
  // AVMA of a call's first argument, into which an earlier call may write its result. Not for call
  // 0, whose arguments are in registers.
  uint64_t first_argument_avma(size_t call) const;
  // The thread's stack pointer during a call and after it, until the next one.
  uint64_t stack_pointer_in(size_t call) const { return frame_avma(call); }

  struct Image {
    uint64_t base;
    std::vector<std::byte> bytes;
    user_regs_struct start;  // registers that begin the chain
  };
  // All signals but `let_through` are blocked between the calls.
  Image finish(const CallSite& site, const ThreadState& state, int let_through);

  // The most bytes that a chain takes up, in any state of the thread.
  static size_t largest_size(size_t calls, size_t placed);

 private:
  struct Call {
    uint64_t number;
    uint64_t arguments[6];
  };
  uint64_t frame_avma(size_t call) const;

  uint64_t base_;
  size_t most_calls_;
  std::vector<std::byte> data_;
  std::vector<Call> calls_;
};

// Whether a thread that is stopped with these registers may make a chain of calls. It may not on
// its way out of a system call that the kernel would begin again.
bool may_host_calls(const user_regs_struct& registers);

}  // namespace sampan::sampler
