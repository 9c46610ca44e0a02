// Damaged .eh_frame and .eh_frame_hdr: whatever the bytes are, a walk ends and reads nothing
// outside of them (the bytes are on the heap, so AddressSanitizer checks that).
#include <cstdint>
#include <cstring>
#include <vector>

#include "unwind/stack_walk.h"

namespace {

using namespace sampan::unwind;

constexpr uint64_t kImage = 0x5000;
constexpr uint64_t kCode = 0x1000;
constexpr uint64_t kStack = 0x100000;

// Each word is readable and is an address in the code, in the image or on the stack.
struct FuzzMemory {
  bool read(uint64_t avma, uint64_t& value) {
    switch (avma / 8 % 3) {
      case 0: value = kCode + avma % 0x400; break;
      case 1: value = kStack + avma % 0x1000; break;
      default: value = avma + 8; break;
    }
    return avma % 1024 != 0;
  }
  bool read_code(uint64_t avma, uint64_t& value) { return read(avma, value); }
  static constexpr bool may_read_code() { return true; }
  static bool readable(uint64_t) { return true; }
  static bool covers(uint64_t, uint64_t) { return false; }
  static uint64_t load(uint64_t) { return 0; }
};

struct FuzzModules {
  Module module;
  bool find(uint64_t pc, Module& result) const {
    if (!module.contains_code(pc)) return false;
    result = module;
    return true;
  }
};

}  // namespace

// The first four bytes: the offset of .eh_frame_hdr in the rest, and the pc.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  uint16_t hdr;
  uint16_t pc;
  std::memcpy(&hdr, data, 2);
  std::memcpy(&pc, data + 2, 2);
  const std::vector<uint8_t> bytes(data + 4, data + size);
  FuzzModules modules{{kCode, kCode + 0x400, kImage + hdr, {bytes, kImage}}};
  FuzzMemory memory;
  static WalkCache cache;
  if (!cache.rows.start()) return 0;
  cache.rows.forget();
  Registers registers{};
  for (unsigned i = 0; i < kRegisterCount; ++i) registers.value[i] = kStack + 64 * i;
  registers.value[kRip] = kCode + pc % 0x400;
  uint64_t frames[32];
  StackWalk<FuzzMemory, FuzzModules> walk(memory, modules, cache, true);
  walk.run(registers, frames);
  // The search may not reach these bytes: read them as an FDE, too.
  CfiRow row;
  find_row(modules.module.image, kImage + hdr, registers.value[kRip], cache.cies,
           cache.rows.generation() + 1, row);
  return 0;
}
