#include "sampler/process/machine_code.h"

#include "unwind/call_site.h"

namespace sampan::sampler {
namespace {

// A signed field of an instruction.
int64_t field(uint32_t instruction, unsigned low, unsigned bits) {
  return static_cast<int64_t>(uint64_t{instruction} << (64 - low - bits)) >> (64 - bits);
}

uint64_t plus(uint64_t address, int64_t distance) {
  return address + static_cast<uint64_t>(distance);
}

// adrp x16, page; ldr x17, [x16, #offset], perhaps with bti before it.
uint64_t through_stub(RemoteMemory& memory, uint64_t target) {
  constexpr uint32_t kBti = 0xd503'245f;
  uint64_t code = 0;
  if (!memory.read(target, code)) return target;
  uint64_t at = target;
  if (static_cast<uint32_t>(code) == kBti && !memory.read(at += 4, code)) return target;
  const auto adrp = static_cast<uint32_t>(code), load = static_cast<uint32_t>(code >> 32);
  if ((adrp & 0x9f00'001f) != 0x9000'0010 || (load & 0xffc0'03ff) != 0xf940'0211) return target;
  const int64_t pages = field(adrp, 5, 19) * 4 + (adrp >> 29 & 3);
  const uint64_t slot = plus(at & ~uint64_t{4095}, pages * 4096) + (load >> 10 & 0xfff) * 8;
  uint64_t function = 0;
  return memory.read(slot, function) ? function : target;
}

}  // namespace

std::optional<CallBefore> call_before(RemoteMemory& memory, uint64_t return_address) {
  uint64_t before = 0;
  memory.read(return_address - sizeof before, before);
  if (unwind::call_length(before) == 0) return std::nullopt;
  const auto instruction = static_cast<uint32_t>(before >> 32);
  if (!unwind::is_relative_call(instruction)) return CallBefore{0};
  return CallBefore{through_stub(memory, plus(return_address - 4, field(instruction, 0, 26) * 4))};
}

// A frame record lies anywhere in a frame.
uint64_t bytes_below_frame_pointer(RemoteMemory& /*memory*/, uint64_t /*start*/,
                                   const unwind::CfiRow& /*row*/) {
  return 0;
}

}  // namespace sampan::sampler
