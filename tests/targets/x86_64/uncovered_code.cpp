// The functions of uncovered.cpp.
asm(R"(
  .text
  .globl framed, pointer_in_fp, counter_in_fp, pointer_in_scratch, unadjusted
  .type framed, @function
framed:
  push %rbp
  mov %rsp, %rbp
  call covered
  pop %rbp
  ret
  .size framed, . - framed

  .type pointer_in_fp, @function
pointer_in_fp:
  push %rbp
  mov %rsi, %rbp
1:
  imul $31, %rax
  dec %rdi
  jnz 1b
  pop %rbp
  ret
  .size pointer_in_fp, . - pointer_in_fp

  .type counter_in_fp, @function
counter_in_fp:
  push %rbp
  mov %rsi, %rbp
  call covered
  pop %rbp
  ret
  .size counter_in_fp, . - counter_in_fp

  .type pointer_in_scratch, @function
pointer_in_scratch:
  mov %rsp, %rcx
  sub $64, %rsp
  and $-32, %rsp
  call leaves_scratch
  mov %rcx, %rsp
  ret
  .size pointer_in_scratch, . - pointer_in_scratch

  .type leaves_scratch, @function
leaves_scratch:
  imul $31, %rax
  dec %rdi
  jnz leaves_scratch
  ret
  .size leaves_scratch, . - leaves_scratch

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
