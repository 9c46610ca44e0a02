// The code of whole libraries says what their tables say.
#include <dlfcn.h>
#include <glob.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "code_at.h"
#include "unwind/apply_row.h"
#include "unwind/cfi.h"
#include "unwind/module_finder.h"
#include "unwind/return_path.h"

namespace sampan::unwind {
namespace {

// Every word of the stack is another return address, so each way to a return ends at the first one.
class AnyStack {
 public:
  static constexpr uint64_t kReturnAddresses = uint64_t{1} << 44;

  static bool covers(uint64_t, uint64_t) { return false; }
  static uint64_t load(uint64_t) { return 0; }
  static bool readable(uint64_t) { return true; }
  static bool read(uint64_t avma, uint64_t& value) {
    value = kReturnAddresses + avma;
    return true;
  }
  bool read_code(uint64_t avma, uint64_t& value) const {
    if (avma >= module.code_start && avma + 8 <= module.code_end) {
      std::memcpy(&value, reinterpret_cast<const void*>(avma), sizeof value);
      return true;
    }
    value = kAnyCall;
    return avma >= kReturnAddresses - 8;
  }

  Module module{};
};

// The first address of a library's code.
uint64_t code_of(const link_map& library) {
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(library.l_addr);
  const auto* segment = reinterpret_cast<const ElfW(Phdr)*>(library.l_addr + header->e_phoff);
  while (segment->p_type != PT_LOAD || (segment->p_flags & PF_X) == 0) ++segment;
  return library.l_addr + segment->p_vaddr;
}

struct Agreement {
  // Counts of instructions. `none`: no answer, although the function has a way to a return. `unknown`: the code
  // takes its stack pointer from a slot of the stack, and AnyStack has no stack pointers.
  uint64_t equal = 0, none = 0, unlike = 0, unknown = 0;
  uint64_t all() const { return equal + none + unlike + unknown; }
  // No answer, which is right: what follows is a call that does not return, or not in the function.
  uint64_t endless = 0;
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
};

// Some code written by hand has a table that knows nothing of what it pushes. That is seen without a
// ReturnPath: up to its first branch or call a function has one way, whose pushes and subtractions
// say how far below the CFA the stack pointer is. The pc where the table says otherwise, or 0. What a
// compiler puts elsewhere (.cold) begins within a frame, and is not judged.
uint64_t wrong_by_its_prologue(const Function& function) {
  int64_t distance = kPushedByCall;  // from the stack pointer to the CFA
  for (uint64_t pc = function.start; pc < function.end;) {
    CfiRow row;
    if (function.row(pc, row) != CfiResult::kFound || row.cfa_kind != CfiRow::kCfaRegister ||
        row.cfa_register != kSp) {
      return 0;
    }
    if (row.cfa_value < distance) return pc;
    if (row.cfa_value > distance) return 0;
    const std::optional<int64_t> growth = stack_growth(pc);
    if (!growth) return 0;
    distance += *growth;
    pc += code_at(pc).length;
  }
  return 0;
}

// The instructions from which a way leads to a return within the function, by their distance from its start.
std::vector<bool> ways_to_return(const Function& function) {
  std::vector<bool> leads(function.end - function.start);
  const auto known = [&](uint64_t pc) {
    return pc >= function.start && pc < function.end && leads[pc - function.start];
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (uint64_t pc = function.start; pc < function.end;) {
      const Instruction instruction = instruction_at(pc);
      if (instruction.operation == Operation::kInvalid) break;
      const uint64_t next = pc + instruction.length;
      bool is_way = false;
      switch (instruction.operation) {
        case Operation::kReturn:
        case Operation::kTailCall: is_way = true; break;
        case Operation::kIndirectJump:
        case Operation::kStop: break;
        case Operation::kJump: is_way = known(instruction.target(pc)); break;
        case Operation::kBranch: is_way = known(instruction.target(pc)) || known(next); break;
        default: is_way = known(next);
      }
      if (is_way && !known(pc)) leads[pc - function.start] = changed = true;
      pc = next;
    }
  }
  return leads;
}

// The function has loaded its return address back into a register, and the table still says where it was
// saved.
bool is_restored(const RegisterFile& by_code, const RegisterFile& by_table) {
  return by_code.registers.value[kPc] == AnyStack::kReturnAddresses &&
         by_code.registers.value[kSp] == by_table.registers.value[kSp];
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
    const std::vector<bool> leads_to_return = ways_to_return(function);
    bool behind_call = false;
    for (uint64_t pc = start; pc < end;) {
      const CodeAt code = code_at(pc);
      if (code.length == 0) break;
      RegisterFile file{};
      for (unsigned number = 0; number < kRegisterCount; ++number) {
        file.registers.value[number] = uint64_t{0x10000} * (number + 1);
      }
      // Where frame pointers are: above the stack pointer.
      file.registers.value[kSp] = 0x10000;
      file.registers.value[kReturnColumn] = AnyStack::kReturnAddresses;
      file.registers.value[kPc] = pc;
      file.known = kAllRegisters;
      RegisterFile by_table = file;
      CfiRow row;
      if (function.row(pc, row) != CfiResult::kFound || row.signal_frame ||
          row.cfa_kind == CfiRow::kCfaExpression) {
        break;
      }
      if (!code.is_padding &&
          RowApplication<AnyStack>::apply(row, module.image, memory, by_table) == Step::kCaller) {
        // The registers of this test do not belong together: where the frame pointer is what counts, the
        // function must not have taken the stack pointer back from it already.
        const bool by_fp = row.cfa_kind == CfiRow::kCfaRegister && row.cfa_register == kFp;
        uint16_t left = 4096;
        ReturnPath path(memory, file, behind_call, Returns::kAny);
        RegisterFile by_code;
        if (path.follow(left, by_code) != Step::kCaller) {
          ++(leads_to_return[pc - start] ? result.none : result.endless);
        } else if (by_code.registers.value[kPc] == by_table.registers.value[kPc] ||
                   is_restored(by_code, by_table) ||
                   (by_fp && path.row().kind() == PackedRow::kFromSp)) {
          ++result.equal;
        } else if (by_code.registers.value[kSp] >= AnyStack::kReturnAddresses) {
          ++result.unknown;
        } else if (++result.unlike <= 10) {
          std::printf("%s+%#lx, in the function at +%#lx: CFA %#lx, by the table %#lx\n", library,
                      pc - base, start - base, by_code.registers.value[kSp],
                      by_table.registers.value[kSp]);
        }
      }
      behind_call = code.is_call;
      pc += code.length;
    }
  }
}

// The first file that a pattern finds, as "libLLVM-14.so.1", or the name itself: libc.so.6. Versions
// differ between distributions.
std::string library_like(const char* pattern) {
  glob_t found{};
  const std::string path = std::string("/usr/lib/*/") + pattern;
  std::string name = pattern;
  if (std::strchr(pattern, '*') != nullptr && glob(path.c_str(), 0, nullptr, &found) == 0) {
    name = found.gl_pathv[0];
  }
  globfree(&found);
  return name;
}

TEST(ReturnPathTables, CodeSaysWhatTheTablesSay) {
  ModuleFinder finder;
  finder.start(find_object_by_loader());
  const bool every_function = std::getenv("EVERY_FUNCTION") != nullptr;
  double judged = 0, unlike = 0, unknown = 0, functions = 0, wrong_tables = 0;
  for (const auto& [pattern, every, answered] : {
           std::tuple{"libc.so.6", 2, 0.94},
           {"libstdc++.so.6", 3, 0.96},
           {"libcrypto.so.3", 3, 0.96},
           {"libm.so.6", 3, 0.96},
           {"libpython3.*.so.1.0", 30, 0.96},
           {"libclang-cpp.so.*", 100, 0.9},
           {"libLLVM*.so*", 100, 0.85},
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
        "%s: %.0f instructions, %.3f %% equal, %lu without an answer, %lu by a slot, %lu unlike, "
        "%lu without a return; of %lu functions %lu have wrong tables\n",
        library.c_str(), all, 100 * static_cast<double>(result.equal) / all, result.none,
        result.unknown, result.unlike, result.endless, result.functions, result.wrong_tables);
    // Behind a call that does not return, the search goes astray in other functions, and may use up its
    // work there. LLVM's functions are large and have many such calls.
    EXPECT_GT(static_cast<double>(result.equal), answered * all) << library;
    // If they were more, what counts as endless would hide what is not found any more.
    EXPECT_LT(static_cast<double>(result.endless), 0.1 * all) << library;
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
