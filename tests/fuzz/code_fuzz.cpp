// Any bytes as code without unwind information: following them ends and reads nothing outside of
// them (they are on the heap, so AddressSanitizer checks that). What goes into the cache of rows
// says the same as the way that was followed.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "unwind/stack_walk.h"

namespace {

using namespace sampan::unwind;

constexpr uint64_t kCode = 0x1000;
constexpr uint64_t kStack = 0x100000;

// The words of the stack lead into the code, or to other words of the stack.
struct FuzzMemory {
  std::vector<uint8_t> code;

  bool read(uint64_t avma, uint64_t& value) {
    if (avma < kStack || avma >= kStack + 0x1000) return false;
    value = avma / 8 % 3 == 0 ? kStack + avma * 5 % 0x1000 : kCode + avma / 8 % (code.size() + 1);
    return true;
  }
  bool read_code(uint64_t avma, uint64_t& value) {
    if (avma < kCode || avma - kCode >= code.size()) return false;
    value = 0;
    std::memcpy(&value, code.data() + (avma - kCode),
                std::min<uint64_t>(8, code.size() - (avma - kCode)));
    return true;
  }
  static constexpr bool may_read_code() { return true; }
  static bool readable(uint64_t) { return true; }
  static bool covers(uint64_t, uint64_t) { return false; }
  static uint64_t load(uint64_t) { return 0; }
};

struct NoModules {
  static bool find(uint64_t, Module&) { return false; }
};

void check(bool holds) {
  if (!holds) std::abort();
}

// The row's equations, see packed_row.h.
void compare(const PackedRow& row, FuzzMemory& memory, const RegisterFile& file,
             const RegisterFile& caller) {
  const uint64_t base = file.registers.value[row.kind() == PackedRow::kFromSp   ? kRsp
                                             : row.kind() == PackedRow::kFromFp ? kRbp
                                                                                : kRbx];
  const uint64_t cfa = base + row.cfa_offset();
  check(caller.registers.value[kRsp] == cfa);
  const auto saved = [&](unsigned number, uint64_t offset) {
    uint64_t value = file.registers.value[number];
    if (offset != 0 && cfa - offset >= file.registers.value[kRsp]) memory.read(cfa - offset, value);
    check(caller.registers.value[number] == value);
  };
  saved(kRbp, row.fp_offset());
  saved(kRbx, row.other_offset());
}

}  // namespace

// The first two bytes: where the pc is, and what rbp and rbx are. The rest: the code.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  FuzzMemory memory{{data + 2, data + size}};
  RegisterFile file{{}, kAllRegisters};
  for (unsigned i = 0; i < kRegisterCount; ++i) file.registers.value[i] = kStack + 64 * i;
  file.registers.value[kRsp] = kStack + 0x100;
  file.registers.value[kRbp] = kStack + 8 * data[1];
  file.registers.value[kRip] = kCode + data[0] % memory.code.size();

  for (const bool called : {false, true}) {
    RegisterFile caller = file;
    uint16_t left = 4096;
    ReturnPath<FuzzMemory> path(memory, file, called, Returns::kAny);
    if (path.follow(left, caller) == Step::kCaller) {
      check(caller.registers.value[kRsp] > file.registers.value[kRsp]);
      check(is_return_address(memory, caller.registers.value[kRip]));
      if (path.row().is_row()) compare(path.row(), memory, file, caller);
    }
    check(left <= 4096);
  }

  static WalkCache cache;
  if (!cache.rows.start()) return 0;
  uint64_t frames[32];
  NoModules modules;
  StackWalk<FuzzMemory, NoModules> walk(memory, modules, cache, true);
  check(walk.run(file.registers, frames).depth <= 32);
  return 0;
}
