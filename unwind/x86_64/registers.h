// Registers by their DWARF numbers (System V x86-64 psABI, figure 3.36); 16 is the return address
// column, here the instruction pointer.
//
// Freestanding: linked into the target.
#pragma once

#include <ucontext.h>

#include <cstdint>

namespace sampan::unwind {

enum Register : uint8_t { kRax, kRdx, kRcx, kRbx, kRsi, kRdi, kRbp, kRsp, kR8, kRip = 16 };
inline constexpr unsigned kRegisterCount = 17;

inline constexpr Register kPc = kRip, kSp = kRsp, kFp = kRbp;
// The register that the row of a pc restores the caller's pc into.
inline constexpr Register kReturnColumn = kRip;
// Whether a register may be the same in the caller: not its pc.
constexpr bool may_stay(unsigned number) {
  return number != kRip;
}
inline constexpr uint64_t kEndOfUserSpace = uint64_t{1} << 47;
// The register that a packed row restores beside those above.
inline constexpr Register kPackedOther = kRbx;

// The numbers of the registers in the kernel's samples (asm/perf_regs.h).
inline constexpr uint8_t kPerfNumbers[kRegisterCount] = {0,  3,  2,  1,  4,  5,  6,  7, 16,
                                                         17, 18, 19, 20, 21, 22, 23, 8};
// The registers of a system call's arguments (psABI, A.2.1).
inline constexpr uint8_t kCallArguments[] = {kRdi, kRsi, kRdx, 10, kR8, 9};

// The registers that a packed row follows, as they are in the function that calls this.
[[gnu::always_inline]] inline void put_registers_here(uint64_t (&value)[kRegisterCount]) {
  asm volatile(
      "lea 0(%%rip), %%rax\n\t"
      "mov %%rax, %0\n\t"
      "mov %%rsp, %1\n\t"
      "mov %%rbp, %2\n\t"
      "mov %%rbx, %3"
      : "=m"(value[kRip]), "=m"(value[kRsp]), "=m"(value[kRbp]), "=m"(value[kRbx])
      :
      : "rax", "memory");
}

inline uint64_t register_in(const ucontext_t& context, unsigned number) {
  // In the order of the DWARF numbers.
  static constexpr int kOrder[kRegisterCount] = {
      REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
      REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  return static_cast<uint64_t>(context.uc_mcontext.gregs[kOrder[number]]);
}

}  // namespace sampan::unwind
