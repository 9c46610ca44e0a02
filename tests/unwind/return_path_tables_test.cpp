// The code of whole libraries says what their tables say.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstdlib>
#include <cstring>

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

  static constexpr uint64_t kReturnAddresses = uint64_t{1} << 44;
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
  uint64_t equal = 0, none = 0, unlike = 0;
};

// The function has loaded its return address back into a register, and the table still says where it was
// saved.
bool is_restored(const RegisterFile& by_code, const RegisterFile& by_table) {
  return by_code.registers.value[kPc] == AnyStack::kReturnAddresses &&
         by_code.registers.value[kSp] == by_table.registers.value[kSp];
}

// Each instruction of each function that the table of a module covers.
void compare(const char* library, const Module& module, uint64_t every, Agreement& result) {
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
    CfiRow last;
    if (find_row(module.image, fde, end - 1, cies, 0, last) != CfiResult::kFound ||
        last.cfa_kind == CfiRow::kCfaExpression)
      continue;
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
      if (find_row(module.image, fde, pc, cies, 0, row) != CfiResult::kFound || row.signal_frame ||
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
          ++result.none;
        } else if (by_code.registers.value[kPc] == by_table.registers.value[kPc] ||
                   is_restored(by_code, by_table) ||
                   (by_fp && path.row().kind() == PackedRow::kFromSp)) {
          ++result.equal;
        } else if (++result.unlike <= 10) {
          std::printf("%s+%#lx, in the function at +%#lx: CFA %#lx, by the table %#lx\n", library,
                      pc - module.code_start, start - module.code_start,
                      by_code.registers.value[kSp], by_table.registers.value[kSp]);
        }
      }
      behind_call = code.is_call;
      pc += code.length;
    }
  }
}

TEST(ReturnPathTables, CodeSaysWhatTheTablesSay) {
  ModuleFinder finder;
  finder.start();
  const bool every_function = std::getenv("EVERY_FUNCTION") != nullptr;
  double judged = 0, unlike = 0;
  for (const auto& [library, every] : {
           std::pair{"libc.so.6", 2},
           {"libstdc++.so.6", 3},
           {"libcrypto.so.3", 3},
           {"libm.so.6", 3},
           {"libpython3.11.so.1.0", 30},
           {"libclang-cpp.so.14", 1000},
           {"libLLVM-14.so.1", 1000},
       }) {
    void* const handle = dlopen(library, RTLD_LAZY);
    link_map* map = nullptr;
    if (handle == nullptr || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) continue;
    Module module;
    ASSERT_TRUE(finder.find(code_of(*map), module)) << library;
    Agreement result;
    compare(library, module, every_function ? 1 : static_cast<uint64_t>(every), result);
    const auto all = static_cast<double>(result.equal + result.none + result.unlike);
    std::printf("%s: %.0f instructions, %.3f %% equal, %lu without an answer, %lu unlike\n",
                library, all, 100 * static_cast<double>(result.equal) / all, result.none,
                result.unlike);
    // Behind a call that does not return, the search goes astray in other functions until its work is
    // used up: it has no answer, which is right. All of libLLVM has more such code than the part.
    EXPECT_GT(static_cast<double>(result.equal), (every_function ? 0.85 : 0.9) * all) << library;
    judged += all;
    unlike += static_cast<double>(result.unlike);
  }
  EXPECT_GT(judged, 100'000);
  EXPECT_LT(unlike, 0.001 * judged);
}

}  // namespace
}  // namespace sampan::unwind
