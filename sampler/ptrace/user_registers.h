// The registers of a thread that ptrace(2) has stopped, as a walk needs them.
#pragma once

#include <sys/user.h>

#include "unwind/registers.h"

namespace sampan::sampler {

unwind::Registers registers_of(const user_regs_struct& user);

}  // namespace sampan::sampler
