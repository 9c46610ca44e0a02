#include "preload/short_thread.h"

#include "base/clock.h"
#include "preload/process.h"
#include "preload/sample_record.h"
#include "wire/record.h"

namespace sampan::preload {
namespace {

// The registers that a packed row follows are all that a walk from here needs.
__attribute__((noinline)) unwind::WalkResult walk_from_here(ThreadState& thread) {
  unwind::Registers registers{};
  asm volatile(
      "lea 0(%%rip), %%rax\n\t"
      "mov %%rax, %0\n\t"
      "mov %%rsp, %1\n\t"
      "mov %%rbp, %2\n\t"
      "mov %%rbx, %3"
      : "=m"(registers.value[unwind::kRip]), "=m"(registers.value[unwind::kRsp]),
        "=m"(registers.value[unwind::kRbp]), "=m"(registers.value[unwind::kRbx])
      :
      : "rax", "memory");
  thread.walking.store(true);
  const unwind::WalkResult walked = walker.walk(registers, thread.stack, thread.frames);
  thread.walking.store(false, std::memory_order_release);
  return walked;
}

}  // namespace

void record_short_thread(ThreadState& thread, uint64_t cpu_ns) {
  if (thread.last_cpu_ns.load(std::memory_order_relaxed) != 0 || cpu_ns == 0) return;
  const unwind::WalkResult walked = walk_from_here(thread);
  // The two frames that every thread begins with: start_thread, clone3.
  constexpr uint32_t kRootFrames = 2;
  if (walked.stop != wire::StopReason::kRoot || walked.depth < kRootFrames) return;
  const uint64_t root = thread.frames[walked.depth - 1];
  const uint64_t start = thread.frames[walked.depth - 2];
  const uint64_t stack[] = {wire::kShortThread, reinterpret_cast<uint64_t>(thread.entry), start,
                            root};
  Sample taken{};
  for (const uint64_t frame : stack) thread.frames[taken.depth++] = frame;
  taken.time_ns = monotonic_ns();
  taken.cpu_ns = cpu_ns;
  taken.stop = wire::StopReason::kRoot;
  record_sample(thread, taken);
  thread.last_cpu_ns.store(cpu_ns, std::memory_order_relaxed);
}

}  // namespace sampan::preload
