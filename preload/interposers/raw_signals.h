// rt_sigaction and rt_sigprocmask as programs make them by syscall(): the same as sigaction and
// sigprocmask, so that our signals stay hidden.
//
// Freestanding: linked into the target.
#pragma once

namespace sampan::preload {

struct RawResult {
  bool done;    // false: the kernel is to answer
  long result;  // what syscall() returns
};
bool is_signal_call(long number);
RawResult make_signal_call(long number, long a, long b, long c, long d);

}  // namespace sampan::preload
