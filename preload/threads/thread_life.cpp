// A thread's beginning and end. pthread_create and thrd_create start a trampoline of ours, which
// keeps what was asked for in the thread's slot; the end is told by the destructor of a key, which
// runs however the thread ends: return, pthread_exit, cancellation.
#include <limits.h>
#include <pthread.h>
#include <threads.h>

#include "base/clock.h"
#include "base/syscall.h"
#include "preload/interpose.h"
#include "preload/process.h"
#include "preload/sampling_switch.h"
#include "preload/short_thread.h"
#include "preload/thread_life.h"
#include "preload/threads.h"

extern "C" void* __libc_stack_end;  // of the loader: the stack pointer when the program began

namespace sampan::preload {
namespace {

pthread_key_t end_key;

uint64_t signal_bit(int signal) {
  return uint64_t{1} << (signal - 1);
}

// In the last round, so that the destructors of the program's own keys are sampled too.
void at_end(void* value) {
  auto& thread = *static_cast<ThreadState*>(value);
  if (!active()) return;
  if (++thread.destructor_rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
    pthread_setspecific(end_key, value);
    return;
  }
  end_this_thread(thread);
}

// glibc puts a thread's descriptor on top of its stack. The size is that which was asked for: the
// bottom is no deeper than that below the top.
unwind::StackBounds stack_below(pthread_t descriptor, size_t size) {
  const uint64_t top = (static_cast<uint64_t>(descriptor) | 4095) + 1;
  return size == 0 || size > top ? unwind::StackBounds{0, 0, true}
                                 : unwind::StackBounds{top - size, top, true};
}

// `cpu_ns`: what is not to be counted.
void begin_this_thread(ThreadState& thread, const unwind::StackBounds& stack, uint64_t cpu_ns) {
  const auto tid = static_cast<int32_t>(raw_syscall(SYS_gettid));
  // A scan may have been faster.
  if (ThreadState* other = thread_by_tid(tid)) end_thread(*other, tid, 0);
  thread.pthread = pthread_self();
  thread.stack = stack;
  adopt_thread_signals(thread.signals, thread.inherited_hidden, thread.alternate_stack.data(),
                       thread.alternate_stack.size());
  pthread_setspecific(end_key, &thread);
  begin_thread(thread, tid, cpu_ns);
}

void begin_new_thread(ThreadState& thread) {
  // The CPU that the kernel spent on making the thread is the thread's.
  begin_this_thread(thread, stack_below(pthread_self(), thread.stack_size), 0);
}

// Both end in a tail call, so that they are in no stack.
void* run_pthread(void* state) {
  auto& thread = *static_cast<ThreadState*>(state);
  void* (*const entry)(void*) = thread.entry;
  void* const argument = thread.argument;
  begin_new_thread(thread);
  return entry(argument);
}

int run_thrd(void* state) {
  auto& thread = *static_cast<ThreadState*>(state);
  const auto entry = reinterpret_cast<thrd_start_t>(reinterpret_cast<void*>(thread.entry));
  void* const argument = thread.argument;
  begin_new_thread(thread);
  return entry(argument);
}

size_t stack_size_of(const pthread_attr_t* attributes) {
  size_t size = 0;
  if (attributes != nullptr) {
    pthread_attr_getstacksize(attributes, &size);
    return size;
  }
  pthread_attr_t standard;
  if (pthread_getattr_default_np(&standard) != 0) return 0;
  pthread_attr_getstacksize(&standard, &size);
  pthread_attr_destroy(&standard);
  return size;
}

// A slot that holds what the trampoline will need; null when the thread must go without.
ThreadState* claim_for(void* entry, void* argument, const pthread_attr_t* attributes) {
  if (!active()) return nullptr;
  if (this_process.seccomp_filtered.load(std::memory_order_relaxed)) {
    count_loss(wire::Loss::kThreadSeccomp);
    return nullptr;
  }
  ThreadState* thread = claim_slot();
  if (thread == nullptr) return nullptr;
  thread->entry = reinterpret_cast<void* (*)(void*)>(entry);
  thread->argument = argument;
  thread->stack_size = stack_size_of(attributes);
  thread->inherited_hidden = hidden_signals_for(attributes);
  return thread;
}

}  // namespace

bool start_thread_life() {
  return pthread_key_create(&end_key, at_end) == 0;
}

void begin_main_thread() {
  ThreadState* thread = claim_slot();
  if (thread == nullptr) return;
  thread->inherited_hidden = hidden_signals_for(nullptr);
  // The kernel keeps at least 128 MB below the main stack free for it to grow.
  constexpr uint64_t kRoomToGrow = uint64_t{128} << 20;
  const uint64_t top = (reinterpret_cast<uint64_t>(__libc_stack_end) | 4095) + 1;
  begin_this_thread(*thread, {top - kRoomToGrow, top, true},
                    read_clock_ns(CLOCK_THREAD_CPUTIME_ID));
}

void end_this_thread(ThreadState& thread) {
  leave_marker_thread();
  uint64_t cpu_ns = 0;
  if (!this_process.seccomp_filtered.load(std::memory_order_relaxed)) {
    // For good: no late signal may find the slot in another thread's hands.
    const uint64_t signals = signal_bit(SIGPROF) | signal_bit(sampling_signal());
    raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, &signals, nullptr, sizeof signals);
    cpu_ns = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (sampling_on(thread)) {
      record_short_thread(thread, cpu_ns);
    } else {
      leave_out(thread, cpu_ns, 0);
    }
  }
  end_thread(thread, thread.tid, cpu_ns);
}

}  // namespace sampan::preload

SAMPAN_EXPORT int pthread_create(pthread_t* pthread, const pthread_attr_t* attributes,
                                 void* (*entry)(void*), void* argument) noexcept {
  using namespace sampan::preload;
  auto* const original = SAMPAN_NEXT(pthread_create);
  ThreadState* thread = claim_for(reinterpret_cast<void*>(entry), argument, attributes);
  if (thread == nullptr) return original(pthread, attributes, entry, argument);
  const int result = original(pthread, attributes, run_pthread, thread);
  if (result != 0) release_slot(*thread);
  return result;
}

SAMPAN_EXPORT int thrd_create(thrd_t* thrd, thrd_start_t entry, void* argument) {
  using namespace sampan::preload;
  auto* const original = SAMPAN_NEXT(thrd_create);
  ThreadState* thread = claim_for(reinterpret_cast<void*>(entry), argument, nullptr);
  if (thread == nullptr) return original(thrd, entry, argument);
  const int result = original(thrd, run_thrd, thread);
  if (result != thrd_success) release_slot(*thread);
  return result;
}
