// pthread_create and thrd_create start a trampoline of ours, which finds in the thread's slot what
// was asked for. The destructor of a key tells the end, however the thread ends: return,
// pthread_exit, cancellation.

#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <threads.h>

#include <algorithm>
#include <string_view>

#include "base/byte_writer.h"
#include "base/clock.h"
#include "base/syscall.h"
#include "preload/process/process.h"
#include "preload/python/thread_name.h"
#include "preload/samples/sampling_switch.h"
#include "preload/signals/alternate_stack.h"
#include "preload/support/interpose.h"
#include "preload/threads/threads.h"
#include "wire/record.h"

extern "C" void* __libc_stack_end;  // of the loader: the stack pointer when the program began

namespace sampan::preload {
namespace {

pthread_key_t end_key;

// A walk from here needs no more registers than a packed row follows.
__attribute__((noinline)) unwind::WalkResult walk_from_here(SampleState& state) {
  unwind::Registers registers{};
  unwind::put_registers_here(registers.value);
  return walk_stack(state, registers);
}

// A thread that ends before the kernel's tick has met it has no sample, and a program that makes many
// such threads may even run in step with the tick. So the thread records one when it ends, with the
// CPU that it used: kShortThread, called by the function that the thread was made for.
void record_short_thread(ThreadState& thread, uint64_t cpu_ns) {
  if (thread.samples.last_cpu_ns.load(std::memory_order_relaxed) != 0 || cpu_ns == 0) return;
  const unwind::WalkResult walked = walk_from_here(thread.samples);
  // Every thread begins with two frames: start_thread, clone3.
  constexpr uint32_t kRootFrames = 2;
  if (walked.stop != wire::StopReason::kRoot || walked.depth < kRootFrames) return;
  const uint64_t root = thread.samples.frames[walked.depth - 1];
  const uint64_t start = thread.samples.frames[walked.depth - 2];
  const uint64_t stack[] = {wire::kShortThread, reinterpret_cast<uint64_t>(thread.start.entry),
                            start, root};
  Sample taken{};
  for (const uint64_t frame : stack) thread.samples.frames[taken.depth++] = frame;
  taken.time_ns = monotonic_ns();
  taken.cpu_ns = cpu_ns;
  taken.stop = wire::StopReason::kRoot;
  record_sample(thread.samples, taken);
  thread.samples.last_cpu_ns.store(cpu_ns, std::memory_order_relaxed);
}

// Acts in the last round, so that the destructors of the program's own keys are sampled too.
void at_end(void* value) {
  auto& thread = *static_cast<ThreadState*>(value);
  if (!active()) return;
  if (++thread.destructor_rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
    pthread_setspecific(end_key, value);
    return;
  }
  end_this_thread(thread);
}

// glibc puts a thread's descriptor on top of its stack. The bottom is at most the requested size
// below that.
unwind::StackBounds stack_below(pthread_t descriptor, size_t size) {
  const uint64_t top = (static_cast<uint64_t>(descriptor) | 4095) + 1;
  return size == 0 || size > top ? unwind::StackBounds{0, 0, true}
                                 : unwind::StackBounds{top - size, top, true};
}

// `cpu_ns`: what is not to be counted.
void begin_this_thread(ThreadState& thread, const unwind::StackBounds& stack, uint64_t cpu_ns) {
  const auto tid = static_cast<int32_t>(raw_syscall(SYS_gettid));
  // A scan may have found the thread before.
  if (ThreadState* other = thread_by_tid(tid)) end_thread(*other, tid, 0);
  thread.pthread = pthread_self();
  thread.samples.stack = stack;
  adopt_thread_signals(thread.signals, thread.start.inherited_hidden, thread.alternate_stack);
  begin_thread(thread, tid, cpu_ns);
  // Last: who finds the thread by the key may write into its ring.
  pthread_setspecific(end_key, &thread);
}

constexpr size_t kMostOfName = wire::kThreadNameSize - 1;  // that the kernel keeps

void record_name(int32_t tid, std::string_view name) {
  char fixed[wire::kLongNameSize] = {};
  memcpy(fixed, name.data(), std::min(name.size(), sizeof fixed - 1));
  uint8_t buffer[sizeof tid + sizeof fixed];
  ByteWriter fields(buffer);
  fields.fixed(tid);
  fields.bytes(fixed, sizeof fixed);
  write_process_record(wire::RecordType::kThreadName, fields.written(), {},
                       wire::Loss::kNameRecord);
}

// CPython 3.14 tells the kernel the names of its threads, of which that keeps the beginning. It ends
// with a whole character.
bool is_beginning_of(std::string_view name, std::string_view whole) {
  constexpr size_t kLongestCharacter = 4;
  return name.size() + kLongestCharacter > kMostOfName && whole.starts_with(name);
}

void begin_new_thread(ThreadState& thread) {
  if (under_filter()) {
    count_loss(wire::Loss::kThreadSeccomp);
    release_slot(thread);
    return;
  }
  // The CPU time that the kernel spent on making the thread counts as the thread's.
  begin_this_thread(thread, stack_below(pthread_self(), thread.start.stack_size), 0);
  if (thread.start.name[0] != '\0') {
    record_name(thread.tid, thread.start.name);
  }
}

// Both end in a tail call, so that they appear in no stack.
void* run_pthread(void* state) {
  auto& thread = *static_cast<ThreadState*>(state);
  void* (*const entry)(void*) = thread.start.entry;
  void* const argument = thread.start.argument;
  begin_new_thread(thread);
  return entry(argument);
}

int run_thrd(void* state) {
  auto& thread = *static_cast<ThreadState*>(state);
  const auto entry = reinterpret_cast<thrd_start_t>(reinterpret_cast<void*>(thread.start.entry));
  void* const argument = thread.start.argument;
  begin_new_thread(thread);
  return entry(argument);
}

// SignalState::hidden of the creator, unless the attributes say which signals are blocked.
uint64_t hidden_signals_for(const pthread_attr_t* attributes) {
  sigset_t given;
  if (!signals_active()) return 0;
  const auto get_mask = next<int(const pthread_attr_t*, sigset_t*), "pthread_attr_getsigmask_np">();
  if (attributes != nullptr && get_mask != nullptr && get_mask(attributes, &given) == 0) return 0;
  const SignalState* state = current_signals();
  return state != nullptr ? state->hidden.load(std::memory_order_relaxed) : 0;
}

size_t stack_size_of(const pthread_attr_t* attributes) {
  size_t size = 0;
  if (attributes != nullptr) {
    pthread_attr_getstacksize(attributes, &size);
    return size;
  }
  pthread_attr_t standard;
  const auto get_default = SAMPAN_NEXT(pthread_getattr_default_np);
  if (get_default == nullptr || get_default(&standard) != 0) return 0;
  pthread_attr_getstacksize(&standard, &size);
  pthread_attr_destroy(&standard);
  return size;
}

// A slot with what the trampoline needs; null when the thread cannot be sampled.
ThreadState* claim_for(void* entry, void* argument, const pthread_attr_t* attributes) {
  if (!active()) return nullptr;
  if (this_process.seccomp_filtered.load(std::memory_order_relaxed)) {
    count_loss(wire::Loss::kThreadSeccomp);
    return nullptr;
  }
  ThreadState* thread = claim_slot();
  if (thread == nullptr) return nullptr;
  thread->start.entry = reinterpret_cast<void* (*)(void*)>(entry);
  thread->start.argument = argument;
  thread->start.stack_size = stack_size_of(attributes);
  thread->start.inherited_hidden = hidden_signals_for(attributes);
  name_of_new_thread(thread->start.name);
  return thread;
}

}  // namespace

bool start_thread_life() {
  return SAMPAN_NEXT(pthread_key_create)(&end_key, at_end) == 0;
}

ThreadState* begun_thread() {
  return static_cast<ThreadState*>(pthread_getspecific(end_key));
}

void begin_main_thread() {
  ThreadState* thread = claim_slot();
  if (thread == nullptr) return;
  thread->start.inherited_hidden = hidden_signals_for(nullptr);
  // The kernel keeps at least 128 MB below the main stack free for it to grow.
  constexpr uint64_t kRoomToGrow = uint64_t{128} << 20;
  const uint64_t top = (reinterpret_cast<uint64_t>(__libc_stack_end) | 4095) + 1;
  begin_this_thread(*thread, {top - kRoomToGrow, top, true},
                    read_clock_ns(CLOCK_THREAD_CPUTIME_ID));
}

void end_this_thread(ThreadState& thread) {
  leave_marker_thread();
  if (end_wrappers_in != nullptr) end_wrappers_in(thread);
  uint64_t cpu_ns = 0;
  if (!under_filter()) {
    // For good: no late signal may come when the slot has another owner.
    change_kernel_mask(SIG_BLOCK, signal_bit(SIGPROF) | signal_bit(sampling_signal()));
    cpu_ns = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (sampling_on(thread.samples)) {
      record_short_thread(thread, cpu_ns);
    } else {
      leave_out(thread.samples, cpu_ns, 0);
    }
  }
  end_thread(thread, thread.tid, cpu_ns);
}

void rename_thread(const ThreadState& thread, const char* name) {
  const std::string_view kept(name, strnlen(name, kMostOfName));
  if (!is_beginning_of(kept, thread.start.name)) record_name(thread.tid, kept);
}

}  // namespace sampan::preload

SAMPAN_EXPORT int pthread_setname_np(pthread_t pthread, const char* name) noexcept {
  using namespace sampan::preload;
  const int result = SAMPAN_NEXT(pthread_setname_np)(pthread, name);
  if (result == 0 && active()) {
    if (const ThreadState* thread = thread_by_pthread(pthread)) {
      rename_thread(*thread, name);
    }
  }
  return result;
}

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
