#include "preload/handler.h"

#include <errno.h>
#include <ucontext.h>

#include "base/clock.h"
#include "preload/clock.h"
#include "preload/process.h"
#include "preload/sample_record.h"
#include "preload/sampling_switch.h"
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

// Walks the stack that the signal has interrupted, and records it.
void take_sample(ThreadState& thread, Sample& taken, bool filtered, void* ucontext) {
  taken.time_ns = monotonic_ns();
  if (thread.pthread == 0 && thread.signals.our_alternate_stack.ss_size == 0) {
    adopt_thread_signals_in_handler(thread.signals, thread.alternate_stack.data(),
                                    thread.alternate_stack.size(), ucontext);
  }
  if (filtered) thread.stack.may_probe = false;
  const unwind::Registers registers =
      unwind::registers_of(*static_cast<const ucontext_t*>(ucontext));
  // Sequentially consistent: whoever unloads a module sees this, or the walker sees the unloading.
  thread.walking.store(true);
  const unwind::WalkResult walked = walker.walk(registers, thread.stack, thread.frames);
  thread.walking.store(false, std::memory_order_release);
  taken.depth = walked.depth;
  taken.stop = walked.stop;
  record_sample(thread, taken);
  thread.last_cpu_ns.store(taken.cpu_ns, std::memory_order_relaxed);
  if (!filtered) scan_when_due(taken.time_ns);
}

void add(std::atomic<uint64_t>& sum, uint64_t value) {
  sum.store(sum.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
}

// What this sample costs its thread. Without a clock that may be read, only that there was one.
void add_cost(const ThreadState& thread, const Sample& taken) {
  wire::ThreadSlot& slot = *wire::thread_slot(this_process.shared, thread.slot);
  const bool from_perf = (taken.flags & wire::kSampleFromPerf) != 0;
  add(from_perf ? slot.perf_signals : slot.timer_signals, 1);
  if (taken.cpu_ns == 0) return;
  add(slot.handler_ns, read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - taken.cpu_ns);
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
  taken.cpu_ns = filtered ? 0 : read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  taken.ticks = info.si_code == SI_TIMER ? static_cast<uint16_t>(1 + info.si_overrun) : 1;
  taken.flags = info.si_code == SI_TIMER ? 0 : wire::kSampleFromPerf;
  if (sampling_on(*thread)) {
    take_sample(*thread, taken, filtered, ucontext);
  } else {
    leave_out(*thread, taken.cpu_ns, taken.ticks);
  }
  follow_rate(*thread);
  add_cost(*thread, taken);
  thread->busy.store(false, std::memory_order_relaxed);
  errno = saved_errno;
}

}  // namespace sampan::preload
