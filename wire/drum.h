// What the drummer (a thread of the collector) and a thread that it beats for say to each other. A beat is the sampling signal,
// sent from outside at the requested rate while the thread runs: a clock above the kernel's tick that needs no permission.
//
// A signal cuts short a call that blocks. So the thread says when it is in one, and no beat is sent then:
//
//   thread:   in_call = 1;  read beating, due       drummer:  beating = 1;  read in_call
//
// All four are sequentially consistent: either the drummer sees the call, or the thread sees the drummer. The thread then waits
// in user space until the drummer is done and the beat, if one was sent, has been taken. So no beat meets a call.
//
// Beats that fall into calls are counted: where they are many, the thread is better served by a timer (HiddenTime in
// preload/clocks/clock.h).
//
// Freestanding: linked into the target.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace sampan::wire {

// Zeroes: nobody wants beats.
struct alignas(64) Drum {
  std::atomic<int32_t>
      tid;  // that wants beats, as the process sees it; 0: none. Written by the target
  std::atomic<int32_t> signo;     // that a beat sends; written before tid
  std::atomic<uint32_t> in_call;  // by the thread: a signal would cut a call short
  std::atomic<uint32_t> awake;  // by the thread: it has run lately, so that the drummer looks at it
  std::atomic<uint32_t> beating;  // by the drummer: it may be about to send
  std::atomic<uint32_t> due;      // a beat was sent, and is not taken yet
  std::atomic<uint32_t> missed;   // beats that fell into a call, since the thread has asked
};

// si_value of a beat: this in the upper half, the slot's index in the lower. Its si_code is SI_QUEUE.
inline constexpr uint64_t kBeatCookie = 0x6472756dull << 32;

// The drummer's side: calls `send` unless the thread is in a call. False when nothing was sent.
template <typename Send>
bool beat(Drum& drum, int32_t tid, Send&& send) {
  drum.beating.store(1);
  bool sent = drum.tid.load() == tid && drum.in_call.load() == 0;
  if (sent) {
    drum.due.store(1);
    sent = send();
    if (!sent) drum.due.store(0);
  }
  drum.beating.store(0);
  return sent;
}

// The thread waits in user space. The drummer may have been stopped, and the program may have blocked the signal: then the thread
// gives its beats up.
template <typename Settled>
void wait_for_drummer(Drum& drum, Settled&& settled) {
  if (settled()) return;
  constexpr uint64_t kLongestNs = 5'000'000;
  const MonotonicNs end = monotonic_ns() + kLongestNs;
  bool late = false;  // decided before the last look: the thread may have lost its CPU
  while (!settled()) {
    if (late) {
      drum.tid.store(0);
      drum.beating.store(0);
      drum.due.store(0);
      return;
    }
    late = monotonic_ns() >= end;
  }
}

// The thread's side. Before a call that blocks; the result is for leave_call(). Calls nest, for a signal handler of the program
// may interrupt one.
inline uint32_t enter_call(Drum& drum) {
  const uint32_t before = drum.in_call.exchange(1);
  wait_for_drummer(drum, [&drum] { return drum.beating.load() == 0 && drum.due.load() == 0; });
  return before;
}

inline void show_awake(Drum& drum) {
  if (drum.awake.load(std::memory_order_relaxed) == 0) {
    drum.awake.store(1, std::memory_order_relaxed);
  }
}

inline void leave_call(Drum& drum, uint32_t before) {
  show_awake(drum);
  drum.in_call.store(before, std::memory_order_release);
}

// The thread wants no more beats. When this returns, none is about to be sent, though one may be pending.
inline void leave_drummer(Drum& drum) {
  drum.tid.store(0);
  wait_for_drummer(drum, [&drum] { return drum.beating.load() == 0; });
}

}  // namespace sampan::wire
