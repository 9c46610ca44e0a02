#include "preload/handler.h"

#include <ucontext.h>

#include "base/clock.h"
#include "base/syscall.h"
#include "preload/clocks/clock.h"
#include "preload/process/process.h"
#include "preload/program_handler.h"
#include "preload/samples/sampling_switch.h"
#include "preload/signals/alternate_stack.h"
#include "preload/signals/handler_view.h"
#include "preload/support/machine.h"
#include "preload/threads/threads.h"
#include "unwind/registers.h"
#include "wire/control_block.h"
#include "wire/record.h"

namespace sampan::preload {
namespace {

// The slot that a signal of a CPU timer or of the drummer names.
uint32_t slot_in(const siginfo_t& info) {
  return static_cast<uint32_t>(reinterpret_cast<uint64_t>(info.si_value.sival_ptr));
}

bool from_perf(const siginfo_t& info) {
  return info.si_code > 0;
}
bool is_beat(const siginfo_t& info) {
  return info.si_code == SI_QUEUE;
}

// What the signals have interrupted. A signal of ours often comes together with one of the program's: then it interrupts our
// handler of that at its first instruction, whose third argument is the frame below.
const ucontext_t& interrupted_by(const void* ucontext) {
  const auto& context = *static_cast<const ucontext_t*>(ucontext);
  const uint64_t pc = unwind::register_in(context, unwind::kPc);
  if (!is_in_handler(pc)) return context;
  bool at_begin = pc == reinterpret_cast<uint64_t>(sampling_handler);
  for (const SignalHandler handler : program_handlers) {
    at_begin |= pc == reinterpret_cast<uint64_t>(handler);
  }
  if (!at_begin) return context;
  return *reinterpret_cast<const ucontext_t*>(
      unwind::register_in(context, unwind::kCallArguments[2]));
}

// The calling thread: by the cookie of a CPU timer or the drummer, by its tid for the perf clock.
ThreadState* signalled_thread(const siginfo_t& info) {
  if (from_perf(info)) return current_thread();
  ThreadState* thread = thread_in_slot(slot_in(info));
  // The signal may be late, and the slot may have another owner already.
  if (thread == nullptr || (thread->pthread != 0 && thread->pthread != this_pthread())) {
    return nullptr;
  }
  return thread;
}

// Walks the stack that the signal has interrupted, and records it.
void take_sample(ThreadState& thread, Sample& taken, bool filtered, void* ucontext) {
  taken.time_ns = monotonic_ns();
  follow_alternate_stack(thread.signals, thread.alternate_stack, ucontext);
  if (filtered) thread.samples.stack.may_probe = false;
  // Runtimes that make threads without pthread_create may have storage of their own.
  thread.samples.trace.may_read = thread.pthread != 0;
  const unwind::WalkResult walked =
      walk_stack(thread.samples, unwind::registers_of(interrupted_by(ucontext)));
  if (const uint32_t rules = walker.take_overruled(); rules != 0) {
    count_loss(wire::Loss::kTableOverruled, rules);
  }
  taken.depth = without_handlers(thread.samples.frames.data(), walked.depth);
  taken.stop = walked.stop;
  if (thread.samples.python.step.kind != wire::StepKind::kNone) taken.flags |= wire::kSampleInStep;
  record_sample(thread.samples, taken);
  thread.samples.last_cpu_ns.store(taken.cpu_ns, std::memory_order_relaxed);
  if (!filtered) scan_when_due(taken.time_ns);
}

// Adds what the sample costs its thread. Reading the CPU's clock once more takes longer than walking a
// short stack. So the first samples of a slot are all measured, and later ones stand for kMeasured each.
// Where no clock may be read, only the sample is counted.
void add_cost(const ThreadState& thread, const siginfo_t& info, const Sample& taken) {
  constexpr uint64_t kMeasured = 16;
  wire::ThreadSlot& slot = *wire::thread_slot(this_process.shared, thread.slot);
  std::atomic<uint64_t>& signals = from_perf(info) ? slot.perf_signals
                                   : is_beat(info) ? slot.beats
                                                   : slot.timer_signals;
  const uint64_t before = signals.load(std::memory_order_relaxed);
  signals.store(before + 1, std::memory_order_relaxed);
  if (taken.cpu_ns == 0 || (before >= kMeasured && before % kMeasured != 0)) return;
  const uint64_t cost_ns = read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - taken.cpu_ns;
  const uint64_t stands_for = before < kMeasured ? 1 : kMeasured;
  slot.handler_ns.store(slot.handler_ns.load(std::memory_order_relaxed) + cost_ns * stands_for,
                        std::memory_order_relaxed);
}

// A beat while the thread waited for a CPU, or soon after another signal; a timer beside a fast clock that has just sampled.
bool is_early(const ThreadState& thread, const siginfo_t& info, uint64_t cpu_ns) {
  constexpr uint64_t kShortestPart = 4, kLateBeside = 2;
  const uint64_t used_ns = cpu_ns - thread.samples.last_cpu_ns.load(std::memory_order_relaxed);
  const uint64_t period = period_ns(thread.clock);
  if (is_beat(info)) return used_ns < period / kShortestPart;
  return info.si_code == SI_TIMER && has_timer_beside(thread.clock) &&
         used_ns < kLateBeside * period;
}

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
  const bool filtered = this_process.seccomp_filtered.load(std::memory_order_relaxed);
  Sample taken{};
  taken.cpu_ns = filtered ? 0 : read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  taken.ticks = info.si_code == SI_TIMER ? static_cast<uint16_t>(1 + info.si_overrun) : 1;
  taken.flags = from_perf(info) ? wire::kSampleFromPerf : 0;
  if (!filtered && is_early(*thread, info, taken.cpu_ns)) {
    // The next sample stands for what the thread has used.
  } else if (sampling_on(thread->samples)) {
    take_sample(*thread, taken, filtered, ucontext);
  } else {
    leave_out(thread->samples, taken.cpu_ns, taken.ticks * period_ns(thread->clock));
  }
  if (info.si_code == SI_TIMER && drum_clock::in_use()) drum_clock::show_awake(thread->clock);
  follow_clock(thread->clock, taken.cpu_ns);
  add_cost(*thread, info, taken);
  thread->busy.store(false, std::memory_order_relaxed);
}

// The frame lies at the very end of an alternate stack of the program's. The CPU time of this
// sample is in the next one.
bool lacks_room(const ucontext_t& context) {
  const auto low = reinterpret_cast<uint64_t>(context.uc_stack.ss_sp);
  const uint64_t room = reinterpret_cast<uint64_t>(__builtin_frame_address(0)) - low;
  return room < context.uc_stack.ss_size && room < kHandlerSize;
}

// When a queue is full, the kernel delivers a standard signal without its siginfo: all zeros.
bool has_lost_siginfo(const siginfo_t& info) {
  return info.si_code == SI_USER && info.si_pid == 0 && info.si_uid == 0;
}

}  // namespace

SAMPAN_HANDLER void sampling_handler(int signo, siginfo_t* info, void* ucontext) {
  if (sent_by_clock(*info)) {
    // A late signal, from before sampling moved to another one, is dropped.
    if (signo == sampling_signal() && !lacks_room(*static_cast<const ucontext_t*>(ucontext))) {
      sample(*info, ucontext);
    }
    if (is_beat(*info)) drum_clock::taken(slot_in(*info));
    return;
  }
  if (has_lost_siginfo(*info) && signo == sampling_signal()) {
    const ThreadState* thread = drum_clock::in_use() ? current_thread() : nullptr;
    if (thread != nullptr) drum_clock::taken(thread->slot);
    return;
  }
  act_for_program(signo, info, ucontext);
}

}  // namespace sampan::preload
