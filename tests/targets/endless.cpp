// Functions without unwind information that never return, as programs have that end in exit() (busybox's applets),
// and a large one with a switch.
//
//   endless CPU_SECONDS
//
// `endless` is called through a pointer. It calls `switched`, which spins behind an indirect jump, in the midst of the
// functions that never return, and then leaves both by longjmp. rbp and rbx are used for other things.
#include <csetjmp>
#include <cstdint>
#include <cstdlib>

#include "work.h"

asm(R"(
  .text
  .type other, @function
other:
  ret
  .size other, . - other

  .globl endless
  .type endless, @function
endless:
  push %r12
  push %rbp
  push %rbx
  sub $32, %rsp
  lea other(%rip), %rbp
  mov %rdi, %rbx
  call switched
  .size endless, . - endless

  .type switched, @function
switched:
  push %rbp
  push %rbx
  sub $24, %rsp
  lea other(%rip), %rbp
  mov %rbp, (%rsp)
  test %rbx, %rbx
  jz 2f
  lea 1f(%rip), %rax
  jmp *%rax
2:
  call abort@PLT
1:
  imul $31, %rax
  dec %rbx
  jnz 1b
  call leave_by_jump
  .size switched, . - switched
)");

extern "C" void endless(uint64_t turns);

namespace {

std::jmp_buf back;

}  // namespace

extern "C" __attribute__((noinline, used)) void leave_by_jump() {
  std::longjmp(back, 1);
}

int main(int, char** argv) {
  const double seconds = std::atof(argv[1]);
  void (*const volatile function)(uint64_t) = endless;
  while (work::thread_cpu() < seconds) {
    if (setjmp(back) == 0) function(200'000);
  }
}
