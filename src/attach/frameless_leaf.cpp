#include "attach/frameless_leaf.h"

#include <optional>

#include "attach/return_address.h"
#include "unwind/eh_frame_hdr.h"

namespace sampan::attach {
namespace {

// Where nothing else tells: a function without a frame is hardly longer.
constexpr uint64_t kLongestLeaf = 512;

}  // namespace

FramelessLeaf::FramelessLeaf(pid_t pid, const ProcessModules& modules) : modules_(modules) {
  code_.copy_stack(pid, 0, 0, true);
}

bool FramelessLeaf::leave(unwind::Registers& registers, RemoteMemory& stack) {
  const uint64_t pc = registers.value[unwind::kRip];
  const uint64_t sp = registers.value[unwind::kRsp];
  unwind::Module module;
  uint64_t fde = 0;
  if (!modules_.find(pc, module) || find_fde(module, pc, fde) == unwind::CfiResult::kFound) {
    return false;
  }
  uint64_t on_top = 0;
  if (!stack.read(sp, on_top)) return false;
  const uint64_t start = called_by(on_top, pc);
  if (start == 0) return false;
  uint64_t above_frame = 0;
  uint64_t other = 0;
  if (stack.read(registers.value[unwind::kRbp] + 8, above_frame)) {
    other = called_by(above_frame, pc);
  }
  if (other >= start || (other == 0 && pc - start > kLongestLeaf)) return false;
  registers.value[unwind::kRip] = on_top - 1;
  registers.value[unwind::kRsp] = sp + 8;
  return true;
}

// The function that the call before `return_address` calls; 0: none, or not known, or behind `pc`.
uint64_t FramelessLeaf::called_by(uint64_t return_address, uint64_t pc) {
  unwind::Module module;
  if (!modules_.find(return_address - 1, module)) return 0;
  const std::optional<CallBefore> call = call_before(code_, return_address);
  return call && call->target <= pc ? call->target : 0;
}

}  // namespace sampan::attach
