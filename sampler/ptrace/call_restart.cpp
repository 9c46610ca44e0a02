#include "sampler/ptrace/call_restart.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

namespace sampan::sampler {
namespace {

constexpr std::array kRepeatable = {
    SYS_epoll_wait, SYS_epoll_pwait,  SYS_epoll_pwait2, SYS_semop,          SYS_semtimedop,
    SYS_read,       SYS_readv,        SYS_recvfrom,     SYS_recvmsg,        SYS_recvmmsg,
    SYS_accept,     SYS_accept4,      SYS_write,        SYS_writev,         SYS_sendto,
    SYS_sendmsg,    SYS_io_getevents, SYS_msgrcv,       SYS_rt_sigtimedwait};

constexpr long kRestartNoHandler = -514;  // ERESTARTNOHAND of include/linux/errno.h

}  // namespace

bool must_begin_again(const user_regs_struct& registers) {
  return static_cast<long>(registers.rax) == -EINTR &&
         std::ranges::find(kRepeatable, static_cast<long>(registers.orig_rax)) != kRepeatable.end();
}

void begin_again(pid_t tid) {
  ptrace(PTRACE_POKEUSER, tid, offsetof(user_regs_struct, rax), kRestartNoHandler);
}

}  // namespace sampan::sampler
