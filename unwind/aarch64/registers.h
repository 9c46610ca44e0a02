// Registers by their DWARF numbers (DWARF for the Arm 64-bit Architecture, 4.1); 32 is the program
// counter. The return address column is that of x30, the link register.
//
// Freestanding: linked into the target.
#pragma once

#include <ucontext.h>

#include <cstdint>

namespace sampan::unwind {

enum Register : uint8_t {
  kX0,
  kX8 = 8,
  kX19 = 19,
  kX29 = 29,
  kX30,
  kStackPointer,
  kProgramCounter
};
inline constexpr unsigned kRegisterCount = 33;

inline constexpr Register kPc = kProgramCounter, kSp = kStackPointer, kFp = kX29, kLr = kX30;
// The register that the row of a pc restores the caller's pc into.
inline constexpr Register kReturnColumn = kLr;
// Whether a register may be the same in the caller. A function that calls no other leaves x30 as it is.
constexpr bool may_stay(unsigned /*number*/) {
  return true;
}
inline constexpr uint64_t kEndOfUserSpace = uint64_t{1} << 48;
// The register that a packed row restores beside those above.
inline constexpr Register kPackedOther = kLr;

// The numbers of the registers in the kernel's samples (asm/perf_regs.h).
inline constexpr uint8_t kPerfNumbers[kRegisterCount] = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
    17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};
// The registers of a system call's arguments.
inline constexpr uint8_t kCallArguments[] = {0, 1, 2, 3, 4, 5};

// The registers that a packed row follows, as they are in the function that calls this.
[[gnu::always_inline]] inline void put_registers_here(uint64_t (&value)[kRegisterCount]) {
  asm volatile(
      "adr x8, .\n\t"
      "str x8, %0\n\t"
      "mov x8, sp\n\t"
      "str x8, %1\n\t"
      "str x29, %2\n\t"
      "str x30, %3"
      : "=m"(value[kPc]), "=m"(value[kSp]), "=m"(value[kFp]), "=m"(value[kLr])
      :
      : "x8", "memory");
}

inline uint64_t register_in(const ucontext_t& context, unsigned number) {
  const mcontext_t& machine = context.uc_mcontext;
  return number == kPc ? machine.pc : number == kSp ? machine.sp : machine.regs[number];
}

// A return address without its signature (FEAT_PAuth), which is in the bits above those of user
// space.
constexpr uint64_t without_signature(uint64_t address) {
  return address & (kEndOfUserSpace - 1);
}

}  // namespace sampan::unwind
