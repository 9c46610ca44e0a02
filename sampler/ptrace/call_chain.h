// A few system calls that a stopped thread of another process makes for us, by itself, and then
// goes on where it was, whatever becomes of us meanwhile.
//
// Setting a thread's registers, waiting for a call and setting them back would leave it with wrong
// registers when we are killed in between. So the way back is in the chain: each call is followed
// by rt_sigreturn, with a signal frame (as handlers return through) whose registers make the next
// call, and the last of which are the thread's own. One request of ptrace, PTRACE_SETREGS, starts
// it all. It needs two places in the program's code (call_site.h) and memory that nobody else uses.
//
// Layout of a frame: struct rt_sigframe of arch/x86/include/asm/sigframe.h, whose ucontext is
// that of <ucontext.h> up to the mask. x86-64.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <vector>

#include "attach/call_site.h"

namespace sampan::attach {

// What a thread is to be given back.
struct ThreadState {
  user_regs_struct registers;
  uint64_t signal_mask;
  std::vector<std::byte> vectors;  // of the regset NT_X86_XSTATE: x87, SSE, AVX …
};

class CallChain {
 public:
  // Will lie from `base` (AVMA, a multiple of 64) upwards, with up to `most_calls` calls.
  CallChain(uint64_t base, size_t most_calls);

  // Bytes for a call to point to; returns where they will be.
  uint64_t place(std::span<const std::byte> bytes);
  template <typename T>
  requires std::is_trivially_copyable_v<T> uint64_t place(const T& value) {
    return place(std::as_bytes(std::span(&value, 1)));
  }
  // The next call; returns its number in the chain.
  size_t add(long system_call, std::initializer_list<uint64_t> arguments);
  // Where the first argument of a call lies, for an earlier call to write a result there. Not of
  // call 0, whose arguments are in registers.
  uint64_t first_argument_avma(size_t call) const;
  // The stack pointer of the thread in and after a call, until the next one.
  uint64_t stack_pointer_in(size_t call) const { return frame_avma(call); }

  struct Image {
    uint64_t base;
    std::vector<std::byte> bytes;
    user_regs_struct start;  // registers that begin the chain
  };
  // Every signal but `let_through` is blocked between the calls.
  Image finish(const CallSite& site, const ThreadState& state, int let_through);

  // Bytes that a chain may take up, whatever the state of the thread.
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

// Whether a thread that is stopped like this may make a chain of calls: it is not on its way out of
// a system call that the kernel would begin again.
bool may_host_calls(const user_regs_struct& registers);

}  // namespace sampan::attach
