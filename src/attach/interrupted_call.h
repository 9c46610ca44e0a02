// A system call that PTRACE_INTERRUPT has ended with EINTR, though no signal came: epoll_wait,
// semop, sigtimedwait, and reads with a timeout (signal(7), the end of "Interruption of system
// calls"). The program must not see that, so the kernel is told to begin it again.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

namespace sampan::attach {

// Of a thread in PTRACE_EVENT_STOP. Not for calls that must not be repeated, as close(2).
bool must_begin_again(const user_regs_struct& registers);

// The call begins again when the thread goes on, unless a handler runs first: then it has failed
// with EINTR, as without us.
void begin_again(pid_t tid);

}  // namespace sampan::attach
