#include "sampler/ptrace/user_registers.h"

namespace sampan::sampler {

unwind::Registers registers_of(const user_regs_struct& user) {
  // In the order of the DWARF numbers.
  return {{user.rax, user.rdx, user.rcx, user.rbx, user.rsi, user.rdi, user.rbp, user.rsp, user.r8,
           user.r9, user.r10, user.r11, user.r12, user.r13, user.r14, user.r15, user.rip}};
}

}  // namespace sampan::sampler
