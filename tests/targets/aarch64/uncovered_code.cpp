// The functions of uncovered.cpp.
asm(R"(
  .text
  .globl framed, pointer_in_fp, counter_in_fp, pointer_in_scratch, unadjusted
  .type framed, %function
framed:
  stp x29, x30, [sp, #-16]!
  mov x29, sp
  bl covered
  ldp x29, x30, [sp], #16
  ret
  .size framed, . - framed

  .type pointer_in_fp, %function
pointer_in_fp:
  stp x29, x30, [sp, #-16]!
  mov x29, x1
1:
  mul x2, x2, x2
  subs x0, x0, #1
  b.ne 1b
  ldp x29, x30, [sp], #16
  ret
  .size pointer_in_fp, . - pointer_in_fp

  .type counter_in_fp, %function
counter_in_fp:
  stp x29, x30, [sp, #-16]!
  mov x29, x1
  bl covered
  ldp x29, x30, [sp], #16
  ret
  .size counter_in_fp, . - counter_in_fp

  .type pointer_in_scratch, %function
pointer_in_scratch:
  stp x29, x30, [sp, #-16]!
  mov x9, sp
  sub x10, sp, #64
  and sp, x10, #-32
  bl leaves_scratch
  mov sp, x9
  ldp x29, x30, [sp], #16
  ret
  .size pointer_in_scratch, . - pointer_in_scratch

  .type leaves_scratch, %function
leaves_scratch:
  mul x2, x2, x2
  subs x0, x0, #1
  b.ne leaves_scratch
  ret
  .size leaves_scratch, . - leaves_scratch

  .type unadjusted, %function
unadjusted:
  .cfi_startproc
  stp x29, x30, [sp, #-16]!
  .cfi_def_cfa_offset 16
  .cfi_offset 29, -16
  .cfi_offset 30, -8
  stp xzr, xzr, [sp, #-16]!
1:
  mul x2, x2, x2
  subs x0, x0, #1
  b.ne 1b
  add sp, sp, #16
  ldp x29, x30, [sp], #16
  ret
  .cfi_endproc
  .size unadjusted, . - unadjusted
)");
