// Functions without unwind information, as assembly written by hand has none, and one whose
// information is wrong. Each uses a fifth of the CPU.
//
//   uncovered CPU_SECONDS
//
// `framed` has a frame pointer. `pointer_in_rbp` keeps the address of {0, &never_called} in rbp, as
// codecs keep tables of functions. `counter_in_rbp` calls covered code with 0 in rbp. `pointer_in_rcx`
// calls such a function while its stack pointer is in rcx, as x264's do. `unadjusted` has a table
// that does not know what it has pushed. Prints "cpu FUNCTION SECONDS" for each.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "work.h"

// What the calls below lead to. It has unwind information and leaves rbp alone.
extern "C" __attribute__((noinline, used)) void covered(uint64_t turns) {
  for (uint64_t i = 0; i < turns; ++i) asm volatile("imul $31, %%rax" : : : "rax");
}
extern "C" __attribute__((noinline, used)) void never_called() {
  std::abort();
}

// turns, and what goes into rbp
extern "C" void framed(uint64_t turns, const void* unused);
extern "C" void pointer_in_rbp(uint64_t turns, const void* data);
extern "C" void counter_in_rbp(uint64_t turns, const void* zero);
extern "C" void pointer_in_rcx(uint64_t turns, const void* unused);
extern "C" void unadjusted(uint64_t turns, const void* unused);

asm(R"(
  .text
  .type framed, @function
framed:
  push %rbp
  mov %rsp, %rbp
  call covered
  pop %rbp
  ret
  .size framed, . - framed

  .type pointer_in_rbp, @function
pointer_in_rbp:
  push %rbp
  mov %rsi, %rbp
1:
  imul $31, %rax
  dec %rdi
  jnz 1b
  pop %rbp
  ret
  .size pointer_in_rbp, . - pointer_in_rbp

  .type counter_in_rbp, @function
counter_in_rbp:
  push %rbp
  mov %rsi, %rbp
  call covered
  pop %rbp
  ret
  .size counter_in_rbp, . - counter_in_rbp

  .type pointer_in_rcx, @function
pointer_in_rcx:
  mov %rsp, %rcx
  sub $64, %rsp
  and $-32, %rsp
  call leaves_rcx
  mov %rcx, %rsp
  ret
  .size pointer_in_rcx, . - pointer_in_rcx

  .type leaves_rcx, @function
leaves_rcx:
  imul $31, %rax
  dec %rdi
  jnz leaves_rcx
  ret
  .size leaves_rcx, . - leaves_rcx

  .type unadjusted, @function
unadjusted:
  .cfi_startproc
  push $0
1:
  imul $31, %rax
  dec %rdi
  jnz 1b
  pop %rax
  ret
  .cfi_endproc
  .size unadjusted, . - unadjusted
)");

namespace {

// By so many turns at a time that the clock's own time does not matter.
constexpr uint64_t kTurns = 200'000;

void use(const char* name, void (*function)(uint64_t, const void*), const void* data,
         double seconds) {
  const double begin = work::thread_cpu();
  while (work::thread_cpu() - begin < seconds) function(kTurns, data);
  std::printf("cpu %s %f\n", name, work::thread_cpu() - begin);
}

}  // namespace

int main(int, char** argv) {
  const double seconds = std::atof(argv[1]) / 5;
  const volatile uint64_t pair[] = {0, reinterpret_cast<uint64_t>(&never_called)};
  use("framed", framed, nullptr, seconds);
  use("pointer_in_rbp", pointer_in_rbp, const_cast<const uint64_t*>(pair), seconds);
  use("counter_in_rbp", counter_in_rbp, nullptr, seconds);
  use("pointer_in_rcx", pointer_in_rcx, nullptr, seconds);
  use("unadjusted", unadjusted, nullptr, seconds);
}
