#include "sampler/ptrace/user_registers.h"

#include <algorithm>
#include <iterator>

namespace sampan::sampler {

unwind::Registers registers_of(const user_regs_struct& user) {
  unwind::Registers registers{};
  std::copy(std::begin(user.regs), std::end(user.regs), registers.value);
  registers.value[unwind::kSp] = user.sp;
  registers.value[unwind::kPc] = user.pc;
  return registers;
}

}  // namespace sampan::sampler
