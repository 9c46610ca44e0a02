#include "preload/handler.h"

#include <errno.h>
#include <ucontext.h>

#include "base/clock.h"
#include "preload/clock.h"
#include "preload/process.h"
#include "preload/sample_record.h"
#include "preload/scan.h"
#include "preload/threads.h"
#include "unwind/signal_registers.h"
#include "wire/control_block.h"
#include "wire/record.h"

namespace sampan::preload {
namespace {

// The calling thread: by the cookie of a CPU timer, by its tid for the perf clock.
ThreadState* signalled_thread(const siginfo_t& info) {
  if (info.si_code != SI_TIMER) return current_thread();
  ThreadState* thread =
      thread_in_slot(static_cast<uint32_t>(reinterpret_cast<uint64_t>(info.si_value.sival_ptr)));
  // A signal may come late, when its slot has another owner already.
  if (thread == nullptr || (thread->pthread != 0 && thread->pthread != pthread_self())) {
    return nullptr;
  }
  return thread;
}

}  // namespace

void sample(const siginfo_t& info, void* ucontext) {
  if (!this_process.started.load(std::memory_order_relaxed) ||
      wire::control_block(this_process.shared)->enabled.load(std::memory_order_relaxed) == 0) {
    return;
  }
  ThreadState* thread = signalled_thread(info);
  if (thread == nullptr) return;
  if (thread->busy.exchange(true, std::memory_order_relaxed)) {
    count_loss(wire::Loss::kHandlerBusy);
    return;
  }
  const int saved_errno = errno;
  const bool filtered = this_process.seccomp_filtered.load(std::memory_order_relaxed);
  Sample taken{};
  taken.time_ns = monotonic_ns();
  taken.cpu_ns = filtered ? 0 : read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  taken.ticks = info.si_code == SI_TIMER ? static_cast<uint16_t>(1 + info.si_overrun) : 1;
  taken.flags = info.si_code == SI_TIMER ? 0 : wire::kSampleFromPerf;
  if (thread->pthread == 0 && thread->signals.our_alternate_stack.ss_size == 0) {
    adopt_thread_signals_in_handler(thread->signals, thread->alternate_stack.data(),
                                    thread->alternate_stack.size(), ucontext);
  }
  if (filtered) thread->stack.may_probe = false;
  const unwind::Registers registers =
      unwind::registers_of(*static_cast<const ucontext_t*>(ucontext));
  // Sequentially consistent: whoever unloads a module sees this, or the walker sees the unloading.
  thread->walking.store(true);
  const unwind::WalkResult walked = walker.walk(registers, thread->stack, thread->frames);
  thread->walking.store(false, std::memory_order_release);
  taken.depth = walked.depth;
  taken.stop = walked.stop;
  record_sample(*thread, taken);
  thread->last_cpu_ns.store(taken.cpu_ns, std::memory_order_relaxed);
  thread->busy.store(false, std::memory_order_relaxed);
  if (!filtered) scan_when_due(taken.time_ns);
  errno = saved_errno;
}

}  // namespace sampan::preload
