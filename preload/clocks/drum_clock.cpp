#include <signal.h>

#include <atomic>

#include "preload/clocks/clock.h"
#include "preload/process/process.h"
#include "wire/control_block.h"

namespace sampan::preload::drum_clock {
namespace {

std::atomic<bool> used, forbidden_here;

wire::Drum& drum_of(const ClockState& clock) {
  return wire::thread_slot(this_process.shared, clock.slot)->drum;
}

}  // namespace

void start(bool perf_allowed) {
  forbid(perf_allowed);
}

uint32_t highest_rate_hz() {
  const bool drummed =
      wire::control_block(this_process.shared)->drummed.load(std::memory_order_relaxed) != 0;
  return drummed && !forbidden_here.load(std::memory_order_relaxed) ? wire::kHighestRateHz : 0;
}

bool arm(ClockState& clock) {
  if (!clock.may_be_drummed ||
      !cpu_timer::create(clock.beside, clock, cpu_timer::kBesidePeriodNs)) {
    return false;
  }
  used.store(true, std::memory_order_relaxed);
  return set_rate(clock);
}

// The drummer knows the rate.
bool set_rate(ClockState& clock) {
  wire::Drum& drum = drum_of(clock);
  drum.signo.store(sampling_signal(), std::memory_order_relaxed);
  drum.awake.store(1, std::memory_order_relaxed);
  drum.tid.store(clock.tid);
  return true;
}

// The next sample finds the drummer lost, and asks for it again.
bool postpone(ClockState& clock) {
  wire::leave_drummer(drum_of(clock));
  cpu_timer::begin_in_a_moment(clock.beside, cpu_timer::kBesidePeriodNs);
  return true;
}

void disarm(ClockState& clock) {
  wire::leave_drummer(drum_of(clock));
  cpu_timer::remove(clock.beside);
}

bool sent(const siginfo_t& info) {
  return info.si_code == SI_QUEUE &&
         reinterpret_cast<uint64_t>(info.si_value.sival_ptr) >> 32 == wire::kBeatCookie >> 32;
}

bool signals_outlive_exec() {
  return used.load(std::memory_order_relaxed);
}

bool is_lost(const ClockState& clock) {
  return drum_of(clock).tid.load(std::memory_order_relaxed) == 0 || highest_rate_hz() == 0;
}

void begin(const ClockState& clock) {
  wire::Drum& drum = drum_of(clock);
  drum.in_call.store(0);
  drum.due.store(0);
  drum.missed.store(0);
}

void show_awake(const ClockState& clock) {
  wire::show_awake(drum_of(clock));
}

uint32_t take_missed(const ClockState& clock) {
  std::atomic<uint32_t>& missed = drum_of(clock).missed;
  return missed.load(std::memory_order_relaxed) == 0
             ? 0
             : missed.exchange(0, std::memory_order_relaxed);
}

void taken(uint32_t slot) {
  if (slot < this_process.shape.slots)
    wire::thread_slot(this_process.shared, slot)->drum.due.store(0);
}

bool in_use() {
  return used.load(std::memory_order_relaxed) && !forbidden_here.load(std::memory_order_relaxed);
}

void forbid(bool forbidden) {
  forbidden_here.store(forbidden, std::memory_order_relaxed);
}

}  // namespace sampan::preload::drum_clock
