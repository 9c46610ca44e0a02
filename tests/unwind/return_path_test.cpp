// Functions by their code alone: small ones written here, and all of a library's, whose tables say
// what is right.
#include "unwind/return_path.h"

#include <dlfcn.h>
#include <glob.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>

#include "eh_frame_builder.h"
#include "unwind/cfi.h"
#include "unwind/module_finder.h"

namespace sampan::unwind {
namespace {

using namespace std::literals;

constexpr uint64_t kFunction = 0x9000, kStackPointer = 0x100000, kReturnAddress = 0x5010;
constexpr uint64_t kCallersBp = 0xb0, kCallersBx = 0xb1;

class ReturnPathTest : public testing::Test {
 protected:
  void SetUp() override {
    memory.put_call_before(kReturnAddress);
    file.set(kRip, kFunction);
    file.set(kRsp, kStackPointer);
    file.set(kRbp, kStackPointer + 0x40);
    file.set(kRbx, kCallersBx);
    file.known = kAllRegisters;
  }

  // Words from kStackPointer on; the return address is the last.
  void put_stack(std::initializer_list<uint64_t> words) {
    uint64_t at = kStackPointer;
    for (const uint64_t word : words) memory.words[std::exchange(at, at + 8)] = word;
    memory.words[at] = kReturnAddress;
    cfa = at + 8;
  }

  Step follow(uint16_t most = 100) {
    ReturnPath path(memory, file, called, Returns::kAny);
    uint16_t left = most;
    RegisterFile caller;
    const Step step = path.follow(left, caller);
    row = path.row();
    if (step == Step::kCaller) file = caller;
    return step;
  }
  void expect_caller() {
    ASSERT_EQ(follow(), Step::kCaller);
    EXPECT_EQ(file.registers.value[kRip], kReturnAddress);
    EXPECT_EQ(file.registers.value[kRsp], cfa);
  }

  FakeMemory memory;
  RegisterFile file{};
  PackedRow row;
  uint64_t cfa = 0;
  bool called = false;
};

TEST_F(ReturnPathTest, RestoresWhatTheFunctionSaved) {
  memory.put_code(
      kFunction,
      "\x31\xc0\x48\x83\xc4\x10\x5b\x5d\xc3"sv);  // xor; add $16,%rsp; pop %rbx; pop %rbp; ret
  put_stack({1, 2, 7, kCallersBp});
  expect_caller();
  EXPECT_EQ(file.registers.value[kRbp], kCallersBp);
  EXPECT_EQ(file.registers.value[kRbx], 7u);
  EXPECT_EQ(row.kind(), PackedRow::kFromSp);
  EXPECT_EQ(row.cfa_offset(), 40u);
  EXPECT_EQ(row.bp_offset(), 16u);
  EXPECT_EQ(row.bx_offset(), 24u);
}

TEST_F(ReturnPathTest, APrologueIsFollowedToo) {
  // push %rbx; sub $16,%rsp; mov %rsp,%rbp (no frame pointer); add $16,%rsp; pop %rbx; ret
  memory.put_code(kFunction, "\x53\x48\x83\xec\x10\x48\x83\xc4\x10\x5b\xc3"sv);
  put_stack({});
  expect_caller();
  EXPECT_EQ(file.registers.value[kRbx], kCallersBx);
  EXPECT_EQ(row.cfa_offset(), 8u);
  EXPECT_EQ(row.bx_offset(), 0u);
}

TEST_F(ReturnPathTest, FramePointersOfTheFunctionItself) {
  memory.put_code(kFunction, "\x90\xc9\xc3"sv);  // nop; leave; ret
  memory.words[kStackPointer + 0x40] = kCallersBp;
  memory.words[kStackPointer + 0x48] = kReturnAddress;
  cfa = kStackPointer + 0x50;
  expect_caller();
  EXPECT_EQ(row.kind(), PackedRow::kFromBp);
  EXPECT_EQ(row.cfa_offset(), 16u);
  EXPECT_EQ(file.registers.value[kRbp], kCallersBp);
}

// x264's functions align the stack, with the old stack pointer in a register or in a slot.
TEST_F(ReturnPathTest, StacksThatAreAligned) {
  file.set(14, kStackPointer + 0x40);
  memory.put_code(kFunction, "\x4c\x89\xf4\xc3"sv);  // mov %r14,%rsp; ret
  memory.words[kStackPointer + 0x40] = kReturnAddress;
  cfa = kStackPointer + 0x48;
  expect_caller();
  EXPECT_EQ(row.kind(), PackedRow::kNone);
}

TEST_F(ReturnPathTest, APrologueThatAligns) {
  // mov %rsp,%rax; sub $0x20,%rsp; and $-32,%rsp; mov %rax,0x10(%rsp); mov %rax,%rsp; ret
  memory.put_code(
      kFunction,
      "\x48\x89\xe0\x48\x83\xec\x20\x48\x83\xe4\xe0\x48\x89\x44\x24\x10\x48\x89\xc4\xc3"sv);
  put_stack({});
  expect_caller();
  EXPECT_EQ(row.cfa_offset(), 8u);
}

// V8's CEntry takes its return address off the stack, drops the arguments, and pushes it again. What
// lies in its place so far is an argument, which may look like a return address.
TEST_F(ReturnPathTest, AReturnAddressThatIsPushedAgain) {
  file.set(15, kStackPointer + 0x20);
  // pop %rcx; lea 8(%r15),%rsp; push %rcx; ret
  memory.put_code(kFunction, "\x59\x49\x8d\x67\x08\x51\xc3"sv);
  memory.words[kStackPointer] = kReturnAddress;
  memory.words[kStackPointer + 0x20] = 0x4000;
  cfa = kStackPointer + 0x28;
  expect_caller();
  EXPECT_EQ(row.kind(), PackedRow::kNone);
  memory.words[kStackPointer + 0x20] = kReturnAddress;
  memory.words[kStackPointer] = 0x4000;
  EXPECT_EQ(follow(), Step::kNoRule);
}

// A function that this one jumps to at its end saves registers where this one has saved them.
TEST_F(ReturnPathTest, ATailCallSavesRegistersAnew) {
  // pop %rbx; pop %rbp; jmp; push %rbp; push %rbx; mov %rdi,%rbx; pop %rbx; pop %rbp; ret
  memory.put_code(kFunction, "\x5b\x5d\xeb\x00\x55\x53\x48\x89\xfb\x5b\x5d\xc3"sv);
  put_stack({7, kCallersBp});
  expect_caller();
  EXPECT_EQ(file.registers.value[kRbx], 7u);
  EXPECT_EQ(file.registers.value[kRbp], kCallersBp);
  EXPECT_EQ(row.bp_offset(), 16u);
  EXPECT_EQ(row.bx_offset(), 24u);
}

TEST_F(ReturnPathTest, ARegisterThatIsNotKnownIsAskedFor) {
  file.known = kPackedRegisters;
  memory.put_code(kFunction, "\x4c\x89\xf4\xc3"sv);  // mov %r14,%rsp; ret
  EXPECT_EQ(follow(), Step::kLostRegister);
}

// x264's hadamard_ac keeps its stack pointer in rcx, which the functions that it calls leave alone.
TEST_F(ReturnPathTest, HandWrittenCodeKnowsWhatItsCallsLeaveAlone) {
  called = true;
  file.set(kRcx, kStackPointer + 0x40);
  memory.put_code(kFunction, "\xe8\x00\x00\x00\x00\x48\x89\xcc\xc3"sv);  // call; mov %rcx,%rsp; ret
  memory.words[kStackPointer + 0x40] = kReturnAddress;
  cfa = kStackPointer + 0x48;
  expect_caller();
  EXPECT_TRUE(file.knows(kRcx));
}

TEST_F(ReturnPathTest, TheResultOfACallIsNotWhatTheRegisterWasBefore) {
  called = true;
  file.set(kRax, kStackPointer + 0x40);
  memory.put_code(kFunction, "\xe8\x00\x00\x00\x00\x48\x89\xc4\xc3"sv);  // call; mov %rax,%rsp; ret
  memory.words[kStackPointer + 0x40] = kReturnAddress;
  EXPECT_EQ(follow(), Step::kLostRegister);
}

TEST_F(ReturnPathTest, LoopsAndCallsThatDoNotReturnAreLeft) {
  // 0: dec %rdi; 3: jnz 0; 5: je 9; 7: ud2; 9: jmp 13; 11: ud2; 13: ret
  memory.put_code(kFunction, "\x48\xff\xcf\x75\xfb\x74\x02\x0f\x0b\xeb\x02\x0f\x0b\xc3"sv);
  put_stack({});
  expect_caller();
}

TEST_F(ReturnPathTest, NoReturnIsFound) {
  memory.put_code(kFunction, "\xeb\xfe"sv);  // jmp to itself
  EXPECT_EQ(follow(), Step::kRoot);
  memory.words.clear();
  memory.put_code(kFunction, "\xf4"sv);  // hlt
  EXPECT_EQ(follow(), Step::kRoot);
  memory.words.clear();
  memory.put_code(kFunction, "\xff\xe0"sv);  // jmp *%rax
  EXPECT_EQ(follow(), Step::kRoot);
  memory.words.clear();
  memory.put_code(kFunction, "\xc3"sv);  // to where no call stands
  memory.words[kStackPointer] = 0x60'0000;
  EXPECT_EQ(follow(), Step::kNoRule);
  memory.words.clear();
  EXPECT_EQ(follow(), Step::kNoRule);  // code that cannot be read
}

// Every word of the stack is another return address, so each way to a return ends at the first one.
class AnyStack {
 public:
  static constexpr uint64_t kReturnAddresses = uint64_t{1} << 60;

  static bool covers(uint64_t, uint64_t) { return false; }
  static uint64_t load(uint64_t) { return 0; }
  static bool readable(uint64_t) { return true; }
  static bool read(uint64_t avma, uint64_t& value) {
    value = kReturnAddresses + avma;
    return true;
  }
  bool read_code(uint64_t avma, uint64_t& value) const {
    constexpr uint64_t kCall = 0xe8'00'00'00;
    if (avma >= kReturnAddresses - 8) {
      value = kCall;
      return true;
    }
    if (avma < module.code_start || avma + 8 > module.code_end) return false;
    std::memcpy(&value, reinterpret_cast<const void*>(avma), sizeof value);
    return true;
  }

  Module module{};
};

// Never executed, and covered by the row of what is before it.
bool is_padding(uint64_t pc) {
  const auto* code = reinterpret_cast<const uint8_t*>(pc);
  while (*code == 0x66 || *code == 0x2e) ++code;
  return *code == 0x90 || (code[0] == 0x0f && code[1] == 0x1f);
}

// The first address of a library's code.
uint64_t code_of(const link_map& library) {
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(library.l_addr);
  const auto* segment = reinterpret_cast<const ElfW(Phdr)*>(library.l_addr + header->e_phoff);
  while (segment->p_type != PT_LOAD || (segment->p_flags & PF_X) == 0) ++segment;
  return library.l_addr + segment->p_vaddr;
}

struct Agreement {
  // Of instructions. `unknown`: the code takes its stack pointer from a slot of the stack, and AnyStack
  // has no stack pointers.
  uint64_t equal = 0, none = 0, unlike = 0, unknown = 0;
  uint64_t all() const { return equal + none + unlike + unknown; }
  uint64_t functions = 0, wrong_tables = 0;
};

// A function of a module, and what its table says of it.
struct Function {
  const Module& module;
  uint64_t fde, start, end;
  RecentCies& cies;

  CfiResult row(uint64_t pc, CfiRow& row) const {
    return find_row(module.image, fde, pc, cies, 0, row);
  }
  static Instruction instruction(uint64_t pc) {
    return decode(std::span<const uint8_t, 16>(reinterpret_cast<const uint8_t*>(pc), 16));
  }
};

// Some code written by hand has a table that knows nothing of what it pushes. That is seen without a
// ReturnPath: up to its first branch or call a function has one way, whose pushes and subtractions
// say how far below the CFA the stack pointer is. The pc where the table says otherwise, or 0. What a
// compiler puts elsewhere (.cold) begins within a frame, and is not judged.
uint64_t wrong_by_its_prologue(const Function& function) {
  int64_t distance = 8;  // from the stack pointer to the CFA
  for (uint64_t pc = function.start; pc < function.end;) {
    CfiRow row;
    if (function.row(pc, row) != CfiResult::kFound || row.cfa_kind != CfiRow::kCfaRegister ||
        row.cfa_register != kRsp) {
      return 0;
    }
    if (row.cfa_value < distance) return pc;
    if (row.cfa_value > distance) return 0;
    const Instruction instruction = Function::instruction(pc);
    switch (instruction.operation) {
      case Operation::kPush: distance += 8; break;
      case Operation::kAddress:
        if (instruction.to != kRsp) break;
        if (instruction.base != kRsp) return 0;
        distance -= instruction.displacement;
        break;
      case Operation::kMove:
      case Operation::kLoad:
        if (instruction.to == kRsp) return 0;
        break;
      case Operation::kOther: break;
      default: return 0;
    }
    pc += instruction.length;
  }
  return 0;
}

// Each instruction of each function that the table of a module covers.
void compare(const char* library, uint64_t base, const Module& module, uint64_t every,
             Agreement& result) {
  const auto word_at = [](uint64_t avma) {
    int32_t word;
    std::memcpy(&word, reinterpret_cast<const void*>(avma), sizeof word);
    return word;
  };
  const auto count = static_cast<uint32_t>(word_at(module.eh_frame_hdr + 8));
  RecentCies cies;
  AnyStack memory;
  memory.module = module;
  for (uint64_t i = 0; i < count; i += every) {
    const uint64_t entry = module.eh_frame_hdr + 12 + 8 * i;
    const uint64_t fde = module.eh_frame_hdr + static_cast<uint64_t>(int64_t{word_at(entry + 4)});
    uint64_t start = 0;
    uint64_t end = 0;
    if (read_coverage(module.image, fde, start, end) != CfiResult::kFound) continue;
    if (!module.contains_code(start) || end + 16 > module.code_end) continue;
    const Function function{module, fde, start, end, cies};
    CfiRow last;
    if (function.row(end - 1, last) != CfiResult::kFound || last.cfa_kind == CfiRow::kCfaExpression)
      continue;
    ++result.functions;
    if (const uint64_t pc = wrong_by_its_prologue(function); pc != 0) {
      ++result.wrong_tables;
      std::printf("%s+%#lx, in the function at +%#lx: the table does not know of what was pushed\n",
                  library, pc - base, start - base);
      continue;
    }
    bool behind_call = false;
    for (uint64_t pc = start; pc < end;) {
      const Instruction instruction = Function::instruction(pc);
      if (instruction.operation == Operation::kInvalid) break;
      RegisterFile file{};
      for (unsigned number = 0; number < kRegisterCount; ++number) {
        file.registers.value[number] = uint64_t{0x10000} * (number + 1);
      }
      // Where frame pointers are: above the stack pointer.
      file.registers.value[kRsp] = 0x10000;
      file.registers.value[kRip] = pc;
      file.known = kAllRegisters;
      RegisterFile by_table = file;
      CfiRow row;
      if (function.row(pc, row) != CfiResult::kFound || row.signal_frame ||
          row.cfa_kind == CfiRow::kCfaExpression) {
        break;
      }
      if (!is_padding(pc) &&
          RowApplication<AnyStack>::apply(row, module.image, memory, by_table) == Step::kCaller) {
        // The registers of this test do not belong together: where rbp is what counts, the function
        // must not have taken rsp back from it already.
        const bool by_rbp = row.cfa_kind == CfiRow::kCfaRegister && row.cfa_register == kRbp;
        uint16_t left = 4096;
        ReturnPath path(memory, file, behind_call, Returns::kAny);
        RegisterFile by_code;
        if (path.follow(left, by_code) != Step::kCaller) {
          ++result.none;
        } else if (by_code.registers.value[kRip] == by_table.registers.value[kRip] ||
                   (by_rbp && path.row().kind() == PackedRow::kFromSp)) {
          ++result.equal;
        } else if (by_code.registers.value[kRsp] >= AnyStack::kReturnAddresses) {
          ++result.unknown;
        } else if (++result.unlike <= 10) {
          std::printf("%s+%#lx, in the function at +%#lx: CFA %#lx, by the table %#lx\n", library,
                      pc - base, start - base, by_code.registers.value[kRsp],
                      by_table.registers.value[kRsp]);
        }
      }
      behind_call = instruction.operation == Operation::kCall;
      pc += instruction.length;
    }
  }
}

// The first file that a pattern finds, as "libLLVM-14.so.1", or the name itself: libc.so.6. Versions
// differ between distributions.
std::string library_like(const char* pattern) {
  glob_t found{};
  const std::string path = "/usr/lib/*/"s + pattern;
  std::string name = pattern;
  if (std::strchr(pattern, '*') != nullptr && glob(path.c_str(), 0, nullptr, &found) == 0) {
    name = found.gl_pathv[0];
  }
  globfree(&found);
  return name;
}

TEST(ReturnPathTables, CodeSaysWhatTheTablesSay) {
  ModuleFinder finder;
  finder.start();
  const bool every_function = std::getenv("EVERY_FUNCTION") != nullptr;
  double judged = 0, unlike = 0, unknown = 0, functions = 0, wrong_tables = 0;
  for (const auto& [pattern, every, answered] : {
           std::tuple{"libc.so.6", 2, 0.9},
           {"libstdc++.so.6", 3, 0.9},
           {"libcrypto.so.3", 3, 0.9},
           {"libm.so.6", 3, 0.9},
           {"libpython3.*.so.1.0", 30, 0.9},
           {"libclang-cpp.so.*", 100, 0.9},
           {"libLLVM*.so*", 100, 0.8},
       }) {
    const std::string library = library_like(pattern);
    void* const handle = dlopen(library.c_str(), RTLD_LAZY);
    link_map* map = nullptr;
    if (handle == nullptr || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) continue;
    Module module;
    ASSERT_TRUE(finder.find(code_of(*map), module)) << library;
    Agreement result;
    compare(pattern, map->l_addr, module, every_function ? 1 : static_cast<uint64_t>(every),
            result);
    const auto all = static_cast<double>(result.all());
    std::printf(
        "%s: %.0f instructions, %.3f %% equal, %lu without an answer, %lu by a slot, %lu unlike; "
        "of %lu functions %lu have wrong tables\n",
        library.c_str(), all, 100 * static_cast<double>(result.equal) / all, result.none,
        result.unknown, result.unlike, result.functions, result.wrong_tables);
    // Behind a call that does not return, the search goes astray in other functions until its work is
    // used up: it has no answer, which is right. libLLVM has most of such code.
    EXPECT_GT(static_cast<double>(result.equal), (every_function ? 0.85 : answered) * all)
        << library;
    judged += all;
    unlike += static_cast<double>(result.unlike);
    unknown += static_cast<double>(result.unknown);
    functions += static_cast<double>(result.functions);
    wrong_tables += static_cast<double>(result.wrong_tables);
  }
  EXPECT_GT(judged, 100'000);
  EXPECT_LT(unlike, 0.001 * judged);
  EXPECT_LT(unknown, 0.001 * judged);
  // If they were many, what says so would be wrong.
  EXPECT_LT(wrong_tables, 0.002 * functions);
}

}  // namespace
}  // namespace sampan::unwind
