#include "preload/wrappers/lock_waits.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include <span>

#include "base/byte_writer.h"
#include "base/clock.h"
#include "base/syscall.h"
#include "preload/process/process.h"
#include "preload/samples/sample.h"
#include "preload/samples/sampling_switch.h"
#include "preload/support/loaded_symbols.h"
#include "preload/wrappers/lock_origins.h"
#include "preload/wrappers/thread_ring.h"
#include "wire/control_block.h"
#include "wire/loss.h"

namespace sampan::preload {
namespace {

using wire::LockKind;
using Group = LockQuestions::Group;

constinit std::atomic<uint64_t> no_limit = 0;
constinit LockQuestions no_questions{};
constexpr char not_known = 0;

// A wait that goes on, or that is over and not written yet.
struct KeptWait {
  enum class State : uint8_t { kFree, kWaiting, kOver };
  State state;
  LockKind kind;
  wire::StopReason stop;
  uint32_t depth;
  uint64_t id;  // in its thread
  uint64_t lock, held;
  uint64_t begin_ns, end_ns, limit_ns;
  LockQuestions::Question question;
  LockQuestions::Answer answer;
  uint64_t frames[wire::kMaxFrames];  // leaf first
};
// A signal handler may wait while the thread does, and a jump out of it leaves waits behind.
constexpr unsigned kMostKept = 8;

struct ThreadWaits {
  int32_t tid;
  uint64_t waits;  // so far
  KeptWait kept[kMostKept];
};
// By slot, mapped when its first thread waits.
constinit std::atomic<ThreadWaits*> waits_of_slot[wire::kMostSlots];

// Zeroes, and zeroes again in a forked child, which shares nobody's waits. Null: there is no memory.
void* map_memory(size_t size) {
  const long mapped = raw_syscall(SYS_mmap, nullptr, size, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped < 0 && mapped > -4096) return nullptr;
  raw_syscall(SYS_madvise, mapped, size, MADV_WIPEONFORK);
  return reinterpret_cast<void*>(mapped);
}

// A wait that never ended: its thread was cancelled, or a jump out of a signal handler has left it. Or one that was
// never written.
void drop(KeptWait& wait) {
  if (wait.state == KeptWait::State::kFree) return;
  if (wait.state == KeptWait::State::kWaiting) {
    lock_questions->close(wait.question, monotonic_ns() + wait.limit_ns);
  }
  wait.state = KeptWait::State::kFree;
  count_loss(wire::Loss::kLockWaitLost);
}

// Null: the thread has never waited.
ThreadWaits* known_waits_of(const ThreadState& thread) {
  ThreadWaits* const waits = waits_of_slot[thread.slot].load(std::memory_order_relaxed);
  if (waits != nullptr && waits->tid != thread.tid) {
    // The thread that had the slot before has ended past the interposers.
    for (KeptWait& wait : waits->kept) drop(wait);
    waits->tid = thread.tid;
  }
  return waits;
}

// Null: there is no memory, or a seccomp filter may forbid to ask for it.
ThreadWaits* waits_of(const ThreadState& thread) {
  if (ThreadWaits* const known = known_waits_of(thread)) return known;
  if (this_process.seccomp_filtered.load(std::memory_order_relaxed)) return nullptr;
  auto* const waits = static_cast<ThreadWaits*>(map_memory(sizeof(ThreadWaits)));
  if (waits != nullptr) waits->tid = thread.tid;
  waits_of_slot[thread.slot].store(waits, std::memory_order_relaxed);
  return waits;
}

Group group_of(LockKind kind) {
  switch (kind) {
    case LockKind::kCondition: return Group::kConditions;
    case LockKind::kSemaphore: return Group::kSemaphores;
    case LockKind::kBarrier: return Group::kBarriers;
    default: return Group::kLocks;
  }
}

void write_origin(SampleState& samples, const KeptWait& wait, uint64_t caller) {
  constexpr size_t kSize = 8 + 8 + 1 + 8;
  constexpr size_t kReserve = 256;
  if (!samples.ring.has_room(kSize, kReserve)) return give_back_lock_origin(wait.lock);
  ByteWriter fields(samples.ring.begin(kSize, kReserve));
  fields.fixed(wait.begin_ns);
  fields.fixed(wait.lock);
  fields.fixed(wait.kind);
  fields.fixed(caller);
  samples.ring.commit(static_cast<uint8_t>(wire::RecordType::kLockOrigin), fields.size());
}

// Writes a record of which the stack is in SampleState::frames. Room is left for samples.
void write_record(SampleState& samples, wire::RecordType type, std::span<const uint8_t> fields,
                  uint32_t depth) {
  constexpr size_t kReserve = wire::kThreadRingSize / 4;
  if (!write_with_stack(samples, type, fields, depth, kReserve)) {
    count_loss(wire::Loss::kLockWaitLost);
  }
}

void write_wait(SampleState& samples, KeptWait& wait) {
  if (const uint64_t caller = take_lock_origin(wait.lock); caller != 0) {
    write_origin(samples, wait, caller);
  }
  uint8_t buffer[4 * 8 + 1 + 2 * 8 + 1];
  ByteWriter fields(buffer);
  fields.fixed(wait.begin_ns);
  fields.fixed(wait.end_ns);
  fields.fixed(wait.limit_ns);
  fields.fixed(wait.lock);
  fields.fixed(wait.kind);
  fields.fixed(wait.answer.first);
  fields.fixed(wait.answer.last);
  fields.fixed(wait.stop);
  memcpy(samples.frames.data(), wait.frames, wait.depth * sizeof(uint64_t));
  write_record(samples, wire::RecordType::kLockWait, fields.written(), wait.depth);
  wait.state = KeptWait::State::kFree;
}

// Writes the waits that are over and `chosen`.
template <typename F>
void write_waits(ThreadState& thread, ThreadWaits& waits, F&& chosen) {
  kept_lock_waits = 0;
  for (KeptWait& wait : waits.kept) {
    if (wait.state != KeptWait::State::kOver) continue;
    if (chosen(wait)) {
      write_wait(thread.samples, wait);
    } else {
      ++kept_lock_waits;
    }
  }
}

KeptWait& free_place(ThreadState& thread, ThreadWaits& waits) {
  const auto find_free = [&]() -> KeptWait* {
    for (KeptWait& wait : waits.kept) {
      if (wait.state == KeptWait::State::kFree) return &wait;
    }
    return nullptr;
  };
  if (KeptWait* free = find_free()) return *free;
  // The thread is about to block anyway.
  write_waits(thread, waits, [](const KeptWait&) { return true; });
  if (KeptWait* free = find_free()) return *free;
  KeptWait* oldest = waits.kept;
  for (KeptWait& wait : waits.kept) {
    if (wait.id < oldest->id) oldest = &wait;
  }
  drop(*oldest);
  return *oldest;
}

// Evenly distributed from 0 up to `limit_ns`: xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift
// generators, scrambled").
uint64_t draw(uint64_t limit_ns) {
  static constinit thread_local uint64_t random = 0;
  if (random == 0) random = uint64_t{monotonic_ns()} ^ reinterpret_cast<uintptr_t>(&random);
  random ^= random >> 12;
  random ^= random << 25;
  random ^= random >> 27;
  return random * 0x2545f4914f6cdd1d % limit_ns;
}

KeptWait* find(ThreadWaits* waits, uint64_t id) {
  if (waits == nullptr || id == 0) return nullptr;
  for (KeptWait& wait : waits->kept) {
    if (wait.id == id && wait.state == KeptWait::State::kWaiting) return &wait;
  }
  return nullptr;
}

}  // namespace

constinit const std::atomic<uint64_t>* lock_limit_ns = &no_limit;
constinit LockQuestions* lock_questions = &no_questions;
constinit const volatile char* single_threaded = &not_known;
constinit thread_local uint32_t kept_lock_waits = 0;

void start_lock_waits() {
  if (!this_process.started.load(std::memory_order_acquire) ||
      pthread_atfork(nullptr, nullptr, lock_origins_after_fork) != 0) {
    return;
  }
  void* const memory = map_memory(sizeof(LockQuestions));
  if (memory == nullptr) return;
  if (const void* known = global_symbol("__libc_single_threaded")) {
    single_threaded = static_cast<const volatile char*>(known);
  }
  lock_questions = static_cast<LockQuestions*>(memory);
  lock_limit_ns = &wire::control_block(this_process.shared)->lock_limit_ns;
}

[[gnu::noinline]] LockWait::LockWait(const volatile void* lock, LockKind kind, const void* caller)
    : limit_ns_(may_record() ? lock_limit_ns->load(std::memory_order_relaxed) : 0) {
  if (limit_ns_ == 0) return;
  drawn_ns_ = draw(limit_ns_);
  {
    const ThreadRing ring;
    ThreadState* const thread = ring.thread();
    if (thread != nullptr && !sampling_on(thread->samples)) {
      limit_ns_ = 0;
      return;
    }
    if (ThreadWaits* waits = thread != nullptr ? waits_of(*thread) : nullptr) {
      // Whether the thread holds a semaphore is not known. If it waits again, it hardly does.
      if (kept_lock_waits != 0) {
        write_waits(*thread, *waits,
                    [](const KeptWait& kept) { return kept.kind == LockKind::kSemaphore; });
      }
      KeptWait& wait = free_place(*thread, *waits);
      const unwind::WalkResult walked = walk_from(caller, thread->samples);
      wait.state = KeptWait::State::kWaiting;
      wait.kind = kind;
      wait.stop = walked.stop;
      wait.depth = walked.depth;
      wait.id = id_ = ++waits->waits;
      wait.lock = reinterpret_cast<uint64_t>(lock);
      wait.limit_ns = limit_ns_;
      memcpy(wait.frames, thread->samples.frames.data(), walked.depth * sizeof(uint64_t));
      begin_ns_ = uint64_t{monotonic_ns()};
      wait.question = lock_questions->ask(wait.lock, group_of(kind), begin_ns_ + drawn_ns_);
    }
  }
  if (begin_ns_ == 0) begin_ns_ = uint64_t{monotonic_ns()};
}

[[gnu::noinline]] void LockWait::end(const volatile void* held) {
  if (limit_ns_ == 0) return;
  const uint64_t end_ns = monotonic_ns();
  const bool recorded = end_ns - begin_ns_ > drawn_ns_;
  const ThreadRing ring;
  ThreadState* const thread = ring.thread();
  KeptWait* const wait = thread != nullptr ? find(known_waits_of(*thread), id_) : nullptr;
  if (wait == nullptr) {
    if (recorded) count_loss(wire::Loss::kLockWaitLost);
    return;
  }
  wait->answer = lock_questions->close(wait->question, end_ns + limit_ns_);
  wait->begin_ns = begin_ns_;
  wait->end_ns = end_ns;
  wait->held = reinterpret_cast<uint64_t>(held);
  wait->state = recorded ? KeptWait::State::kOver : KeptWait::State::kFree;
  if (!recorded) return;
  if (held == nullptr) {
    write_wait(thread->samples, *wait);
  } else {
    ++kept_lock_waits;
  }
}

void LockWait::cancel() {
  if (limit_ns_ == 0) return;
  const ThreadRing ring;
  ThreadState* const thread = ring.thread();
  KeptWait* const wait = thread != nullptr ? find(known_waits_of(*thread), id_) : nullptr;
  if (wait == nullptr) return;
  lock_questions->close(wait->question, monotonic_ns() + limit_ns_);
  wait->state = KeptWait::State::kFree;
}

LockRelease::LockRelease(const volatile void* lock, Group group)
    : lock_(reinterpret_cast<uint64_t>(lock)),
      release_(lock_questions->any(group) ? lock_questions->release(lock_)
                                          : LockQuestions::Release()) {}

void LockRelease::write_if_asked(const void* caller) {
  if (release_.number != 0 && lock_questions->is_recorded(release_, monotonic_ns())) write(caller);
}

[[gnu::noinline]] void LockRelease::write(const void* caller) const {
  if (release_.number == 0) return;
  const ThreadRing ring;
  ThreadState* const thread = ring.thread();
  if (thread == nullptr || !may_record()) return count_loss(wire::Loss::kLockWaitLost);
  uint8_t buffer[3 * 8 + 1];
  ByteWriter fields(buffer);
  fields.fixed(monotonic_ns());
  fields.fixed(release_.number);
  fields.fixed(lock_);
  const unwind::WalkResult walked = walk_from(caller, thread->samples);
  fields.fixed(walked.stop);
  write_record(thread->samples, wire::RecordType::kRelease, fields.written(), walked.depth);
}

[[gnu::noinline]] void LockRelease::write_kept() const {
  const ThreadRing ring;
  ThreadState* const thread = ring.thread();
  if (thread == nullptr) return;
  if (ThreadWaits* const waits = known_waits_of(*thread)) {
    write_waits(*thread, *waits, [this](const KeptWait& wait) { return wait.held == lock_; });
  } else {
    kept_lock_waits = 0;
  }
}

void end_lock_waits(ThreadState& ending) {
  // In the thread's last moments, ThreadRing does not find it.
  ThreadWaits* const waits = known_waits_of(ending);
  if (waits == nullptr || ending.busy.exchange(true, std::memory_order_acquire)) return;
  write_waits(ending, *waits, [](const KeptWait&) { return true; });
  for (KeptWait& wait : waits->kept) drop(wait);
  ending.busy.store(false, std::memory_order_release);
}

}  // namespace sampan::preload
