// Instructions by their encodings, and all of a library's beside the disassembler's.
#include "unwind/x86_64/instruction.h"

#include <capstone/capstone.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstring>
#include <string_view>

#include "unwind/registers.h"

namespace sampan::unwind {
namespace {

using namespace std::literals;

Instruction decoded(std::string_view bytes) {
  uint8_t code[16] = {};
  std::memcpy(code, bytes.data(), bytes.size());
  return decode(code);
}

void expect(std::string_view bytes, Operation operation, int64_t displacement = 0,
            uint8_t to = Instruction::kNoRegister, uint8_t base = Instruction::kNoRegister) {
  const Instruction instruction = decoded(bytes);
  EXPECT_EQ(instruction.length, bytes.size());
  EXPECT_EQ(instruction.operation, operation);
  EXPECT_EQ(instruction.displacement, displacement);
  EXPECT_EQ(instruction.to, to);
  EXPECT_EQ(instruction.base, base);
}

TEST(InstructionTest, WhatMovesTheStackPointer) {
  constexpr uint8_t kNone = Instruction::kNoRegister;
  expect("\x55"sv, Operation::kPush, 0, kNone, kRbp);                    // push %rbp
  expect("\x41\x57"sv, Operation::kPush, 0, kNone, 15);                  // push %r15
  expect("\x68\x01\x02\x03\x04"sv, Operation::kPush);                    // push $imm
  expect("\xff\x35\x01\x02\x03\x04"sv, Operation::kPush);                // push slot(%rip)
  expect("\x5b"sv, Operation::kPop, 0, kRbx);                            // pop %rbx
  expect("\x41\x5c"sv, Operation::kPop, 0, 12);                          // pop %r12
  expect("\x48\x83\xec\x18"sv, Operation::kAddress, -0x18, kRsp, kRsp);  // sub $0x18,%rsp
  expect("\x48\x81\xc4\x00\x01\x00\x00"sv, Operation::kAddress, 0x100, kRsp,
         kRsp);                                                          // add $0x100,%rsp
  expect("\x48\x8d\x64\x24\x08"sv, Operation::kAddress, 8, kRsp, kRsp);  // lea 8(%rsp),%rsp
  expect("\x48\x8d\x65\xd8"sv, Operation::kAddress, -0x28, kRsp, kRbp);  // lea -0x28(%rbp),%rsp
  expect("\x4c\x8d\x54\x24\x08"sv, Operation::kAddress, 8, 10, kRsp);    // lea 8(%rsp),%r10
  expect("\x49\x8d\x62\xf8"sv, Operation::kAddress, -8, kRsp, 10);       // lea -8(%r10),%rsp
  expect("\x48\x89\xe5"sv, Operation::kMove, 0, kRbp, kRsp);             // mov %rsp,%rbp
  expect("\x4c\x89\xf4"sv, Operation::kMove, 0, kRsp, 14);               // mov %r14,%rsp
  expect("\x48\x8b\x64\x24\x40"sv, Operation::kLoad, 0x40, kRsp, kRsp);  // mov 0x40(%rsp),%rsp
  expect("\x48\x8b\x5d\xf8"sv, Operation::kLoad, -8, kRbx, kRbp);        // mov -8(%rbp),%rbx
  expect("\x48\x83\xe4\xe0"sv, Operation::kAlign, -0x20, kRsp, kRsp);    // and $-0x20,%rsp
  expect("\x48\x29\xc4"sv, Operation::kSetsSp);                          // sub %rax,%rsp
  expect("\x48\x8d\x24\x04"sv, Operation::kSetsSp);                      // lea (%rsp,%rax),%rsp
  expect("\xc9"sv, Operation::kLeave);
  expect("\x48\x83\xfc\x10"sv, Operation::kOther);                   // cmp $0x10,%rsp
  expect("\x48\x8b\x04\xc4"sv, Operation::kOther, 0, kNone, kNone);  // mov (%rsp,%rax,8),%rax
}

TEST(InstructionTest, WhereControlGoes) {
  expect("\xe8\x01\x02\x03\x04"sv, Operation::kCall);
  expect("\x41\xff\x54\x24\x08"sv, Operation::kCall);  // call *8(%r12)
  expect("\xc3"sv, Operation::kReturn);
  expect("\xf3\xc3"sv, Operation::kReturn);            // rep ret
  expect("\xc2\x10\x00"sv, Operation::kReturn, 0x10);  // ret $0x10
  expect("\xeb\xfe"sv, Operation::kJump, -2);
  expect("\xe9\x00\x01\x00\x00"sv, Operation::kJump, 0x100);
  expect("\x75\x10"sv, Operation::kBranch, 0x10);
  expect("\x0f\x84\xf0\xff\xff\xff"sv, Operation::kBranch, -0x10);
  expect("\x3e\xff\xe0"sv, Operation::kIndirectJump);          // notrack jmp *%rax
  expect("\x0f\x0b"sv, Operation::kStop);                      // ud2
  expect("\xf4"sv, Operation::kStop);                          // hlt
  expect("\x0f\x05"sv, Operation::kOther);                     // syscall
  expect("\xff\x25\x01\x02\x03\x04"sv, Operation::kTailCall);  // jmp *slot(%rip)
}

TEST(InstructionTest, Lengths) {
  for (const std::string_view code : {
           "\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08"sv,      // movabs $imm,%rax
           "\x66\xb8\x01\x02"sv,                              // mov $imm,%ax
           "\xf6\x05\x01\x02\x03\x04\x05"sv,                  // testb $5,slot(%rip)
           "\xf7\xd8"sv,                                      // neg %eax
           "\x66\x0f\x3a\x0f\xc1\x08"sv,                      // palignr $8,%xmm1,%xmm0
           "\x66\x0f\x38\x00\xc1"sv,                          // pshufb %xmm1,%xmm0
           "\xc5\xf8\x77"sv,                                  // vzeroupper
           "\xc5\xfd\x6f\x07"sv,                              // vmovdqa (%rdi),%ymm0
           "\xc5\xfd\x70\xc0\x1b"sv,                          // vpshufd $0x1b,%ymm0,%ymm0
           "\xc4\xe3\x7d\x39\xc1\x01"sv,                      // vextracti128 $1,%ymm0,%xmm1
           "\xc4\xe2\x7d\x18\x05\x01\x02\x03\x04"sv,          // vbroadcastss slot(%rip),%ymm0
           "\x62\xf1\x7c\x48\x10\x47\x01"sv,                  // vmovups 0x40(%rdi),%zmm0
           "\x62\xf3\xfd\x48\x25\xc0\xff"sv,                  // vpternlogq $0xff,%zmm0,%zmm0,%zmm0
           "\x66\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"sv,  // a long nop
       }) {
    EXPECT_EQ(decoded(code).length, code.size());
  }
}

TEST(InstructionTest, WhatIsNoInstruction) {
  EXPECT_EQ(decoded("\x06"sv).operation, Operation::kInvalid);
  EXPECT_EQ(decoded("\x0f\x04"sv).operation, Operation::kInvalid);
  EXPECT_EQ(decoded("\x62\xf4"sv).operation, Operation::kInvalid);
  EXPECT_EQ(decoded("\x8f\xe8\x78\xb6\xc1\x02"sv).operation, Operation::kInvalid);  // XOP
  const std::string prefixes(16, '\x66');
  EXPECT_EQ(decoded(prefixes).operation, Operation::kInvalid);
}

// The executable segment of a library.
std::span<const uint8_t> code_of(const char* library) {
  void* const handle = dlopen(library, RTLD_LAZY);
  link_map* map = nullptr;
  if (handle == nullptr || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return {};
  struct Search {
    uint64_t base;
    std::span<const uint8_t> code;
  } search{map->l_addr, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* argument) {
        auto& [base, code] = *static_cast<Search*>(argument);
        for (const auto& segment : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
          if (info->dlpi_addr != base || segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0)
            continue;
          code = {reinterpret_cast<const uint8_t*>(base + segment.p_vaddr), segment.p_memsz};
        }
        return 0;
      },
      &search);
  return search.code;
}

// From instruction to instruction, by capstone's lengths; what it does not know is skipped, a byte
// at a time.
TEST(InstructionTest, LengthsAreTheDisassemblers) {
  csh disassembler;
  ASSERT_EQ(cs_open(CS_ARCH_X86, CS_MODE_64, &disassembler), CS_ERR_OK);
  for (const char* library : {"libc.so.6", "libm.so.6", "libcrypto.so.3", "libgmp.so.10"}) {
    const std::span<const uint8_t> code = code_of(library);
    if (code.empty()) continue;
    cs_insn* instruction = cs_malloc(disassembler);
    const uint8_t* at = code.data();
    size_t left = code.size();
    uint64_t address = 0;
    uint64_t equal = 0;
    uint64_t unlike = 0;
    while (left >= 16) {
      const uint8_t* const start = at;
      if (!cs_disasm_iter(disassembler, &at, &left, &address, instruction)) {
        ++at;
        --left;
        continue;
      }
      const Instruction ours = decode(std::span<const uint8_t, 16>(start, 16));
      if (ours.length == instruction->size) {
        ++equal;
      } else if (++unlike <= 10) {
        std::printf("%s+%#tx: %s %s: %u, ours %u\n", library, start - code.data(),
                    instruction->mnemonic, instruction->op_str, instruction->size, ours.length);
      }
    }
    std::printf("%s: %lu instructions, %lu unlike\n", library, equal + unlike, unlike);
    cs_free(instruction, 1);
    EXPECT_GT(equal, 10'000u) << library;
    // What lies between functions, and data there, need not be instructions.
    EXPECT_LT(static_cast<double>(unlike), 1e-3 * static_cast<double>(equal)) << library;
  }
  cs_close(&disassembler);
}

}  // namespace
}  // namespace sampan::unwind
