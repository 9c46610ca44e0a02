// The clocks that send the sampling signal to a thread. A clock is one file. To add one: the file,
// its declarations and a member of ClockState here, a line in each table of clock.cpp.
//
// A thread's clock is armed by the thread itself or by another thread that found it. The caller
// holds ClockState::lock.
//
// The requested rate may change at any time (ControlBlock::rate_hz). A thread follows it by itself
// at its next sample. So sleeping threads cost nothing, and each thread is late by at most its old
// period of CPU time.
//
// Async-signal-safe. Freestanding: linked into the target.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstdint>

#include "preload/support/spin_lock.h"

namespace sampan::preload {

// The default clock: a POSIX timer on the thread's own CPU clock. The kernel looks at it on its
// tick, so it expires at most HZ times per CPU second. It never wakes a sleeping thread.
struct CpuTimer {
  int id;  // the kernel's
};
// In si_value of the timer's signals, to tell them from signals of others: kCookie in the upper
// half, the slot's index in the lower.
inline constexpr uint64_t kCookie = 0x73616d70ull << 32;

// The clock for rates above the kernel's tick: a perf event of the thread that counts its own CPU
// time (PERF_COUNT_SW_TASK_CLOCK, a high-resolution timer that runs while the thread does) and sends
// it the sampling signal. A period that ends in the kernel has no signal: so any user may
// (perf_event_paranoid 2), and no call of the program is ever interrupted.
//
// An event lives as long as its file, and a mapping of its first page holds the file as well as a
// descriptor does. So the descriptor is closed at once: nothing appears in the program's table,
// nothing breaks when the program closes all descriptors, a forked child inherits nothing
// (VM_DONTCOPY), and exec drops it.
//
// A thread whose periods all end in the kernel would have no signal at all. So a CPU timer goes along, as with the drummer.
struct PerfEvent {
  void* page;
};

// The clock for rates above the tick where perf events are refused: the drummer of the collector sends the signal (wire/drum.h)
// while the thread runs. How it is kept out of calls that block: interposers/blocking_calls.cpp.
//
// The drummer does not look at a thread that it has not seen running for long. So a CPU timer goes along, at a long period: it
// wakes the drummer's interest, and each thread has samples of the CPU that it used, whether the drummer sees it or not. Where
// the fast clock has just sampled, its signal is no sample.
//
// Only threads that pthread_create made, and the main thread: others may share their thread's memory, and their calls could not
// be told apart.

// The perf clock hides the periods of a thread that end in the kernel, the drummer those that end in calls that it keeps out of.
// The next sample weighs for them, and it is of code in user space, perhaps of another function. Where they are many, the CPU
// timer is right, which counts both. So the thread has that one for a while, and then tries again.
struct HiddenTime {
  uint64_t last_cpu_ns;           // the thread's CPU clock at the last signal; 0: none yet
  uint64_t passed_ns, hidden_ns;  // CPU in the current window; the part that was hidden
  uint64_t avoid_ns;              // for so much CPU, only the CPU timer is used
};

// The clock of one thread.
struct ClockState {
  int32_t tid;
  uint32_t slot;
  uint32_t rate_hz;  // that the clock was armed with; 0: not armed yet
  int armed;         // an index of the tables; kNoClock: none
  SpinLock lock;     // held while the clock is armed or disarmed
  CpuTimer cpu_timer;
  PerfEvent perf_event;
  HiddenTime hidden;
  CpuTimer beside;      // of a fast clock: goes along with it
  bool may_be_drummed;  // pthread_create made the thread, or it is the main thread
};
inline constexpr int kNoClock = -1;

// What the signal handler may call of a clock. All of it is within the handler's fence.
struct HandlerClock {
  uint32_t (*highest_rate_hz)();   // 0: the clock cannot be used
  bool (*arm)(ClockState&);        // at ClockState::rate_hz; leaves nothing behind when it fails
  bool (*set_rate)(ClockState&);   // of an armed clock; when it fails, the clock is not armed
  void (*disarm)(ClockState&);     // of an armed clock
  bool (*sent)(const siginfo_t&);  // a clock of this kind, in this process, sent the signal
};
// What only ordinary code calls.
struct OrdinaryClock {
  void (*start)(bool perf_allowed);
  bool (*postpone)(ClockState&);   // of an armed clock; when it fails, the clock is not armed
  bool (*signals_outlive_exec)();  // pending signals stay, and would end the new image
};

namespace cpu_timer {
// A timer of the thread's CPU time, apart from that of `clock`.
bool create(CpuTimer& timer, const ClockState& clock, uint64_t period_ns);
void begin_in_a_moment(const CpuTimer& timer, uint64_t period_ns);
void remove(const CpuTimer& timer);
// The period of the timer that goes along with a fast clock.
inline constexpr uint64_t kBesidePeriodNs = 16'000'000;

void start(bool perf_allowed);
uint32_t highest_rate_hz();
bool arm(ClockState& clock);
bool set_rate(ClockState& clock);
bool postpone(ClockState& clock);
void disarm(ClockState& clock);
bool sent(const siginfo_t& info);
bool signals_outlive_exec();
}  // namespace cpu_timer

namespace perf_clock {
// Whether the kernel allows it is found out when a rate first needs it.
void start(bool perf_allowed);
uint32_t highest_rate_hz();
bool arm(ClockState& clock);
// Opens a new event: without a descriptor, the old one cannot be changed.
bool set_rate(ClockState& clock);
bool postpone(ClockState& clock);
void disarm(ClockState& clock);
bool sent(const siginfo_t& info);
bool signals_outlive_exec();
}  // namespace perf_clock

namespace drum_clock {
// Perf events come first: if they may be used, no thread is drummed.
void start(bool perf_allowed);
uint32_t highest_rate_hz();
bool arm(ClockState& clock);
bool set_rate(ClockState& clock);
bool postpone(ClockState& clock);
void disarm(ClockState& clock);
bool sent(const siginfo_t& info);
bool signals_outlive_exec();
// The thread has given its beats up, or the drummer has left: the clock is to be armed again.
bool is_lost(const ClockState& clock);
// For a slot's new thread.
void begin(const ClockState& clock);
// Threads of the process may be drummed now.
bool in_use();
// How many beats have fallen into calls of the thread since this was asked last.
uint32_t take_missed(const ClockState& clock);
// A timer has found the thread running.
void show_awake(const ClockState& clock);
// The thread handles a signal that the drummer may have sent.
void taken(uint32_t slot);
// No thread is drummed any more, from the next time on that its clock is armed; or they may be again.
void forbid(bool forbidden);
}  // namespace drum_clock

// Once, before any clock is armed. `perf_allowed`: perf_event_open may be called. `always_fast`: also
// where much is hidden.
void start_clocks(bool perf_allowed, bool always_fast);

// Arms the clock for the rate that is requested now. False when the thread stays without a clock
// (counted).
bool arm_clock(ClockState& clock);
void disarm_clock(ClockState& clock);
// Disarms it also under a seccomp filter, which must allow that. False when it was not armed.
bool stop_clock(ClockState& clock);
// No signal during the next moment of the thread's CPU time (kMomentNs, or a period of perf).
void postpone_clock(ClockState& clock);
// In the handler, by the thread itself, without the lock: sets the rate that is requested now, with a
// clock that sees what the thread does. `cpu_ns`: the thread's CPU clock; 0: not known.
void follow_clock(ClockState& clock, uint64_t cpu_ns);
// In a forked child: it inherits no clock, and the lock may have been held by a lost thread.
void forget_clock(ClockState& clock);

// A fast clock is armed, and a CPU timer beside it.
bool has_timer_beside(const ClockState& clock);

// A clock of this process sent the signal.
bool sent_by_clock(const siginfo_t& info);
bool clock_signals_outlive_exec();

// The signal that clocks send; 0: none yet. signals/sampling_signal.h chooses it.
inline constinit std::atomic<int> clock_signal;
inline int sampling_signal() {
  return clock_signal.load(std::memory_order_relaxed);
}

inline constexpr uint64_t kMomentNs = 100'000;

inline uint64_t period_ns(const ClockState& clock) {
  return 1'000'000'000 / (clock.rate_hz != 0 ? clock.rate_hz : 1);
}

}  // namespace sampan::preload
