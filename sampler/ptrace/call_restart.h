// System calls that a stop of ours ends, and that must begin again. x86-64.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

namespace sampan::sampler {

// PTRACE_INTERRUPT ends some system calls with EINTR although no signal came: epoll_wait, semop,
// sigtimedwait, and reads with a timeout (signal(7), the end of "Interruption of system calls"). The
// program must not see the EINTR, so the kernel is told to begin the call again.
//
// `registers` are those of a thread in PTRACE_EVENT_STOP. False for calls that must not be
// repeated, such as close(2).
bool must_begin_again(const user_regs_struct& registers);

// The call begins again when the thread goes on. If a handler runs first, the call fails with
// EINTR, as it does without us.
void begin_again(pid_t tid);

}  // namespace sampan::sampler
