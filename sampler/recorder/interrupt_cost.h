// What interrupts and signals cost a thread. It cannot be read, so it is measured when a recording
// begins: the thread reads a clock in a loop, and a long time between two readings is a gap. No
// other clock tells what an interrupt costs: on a virtual machine it may be fifty times as much as
// on a real one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sampan::sampler {

// Reads the clock for `for_ns` on a CPU: while other threads have it does not count. Returns the
// gaps in nanoseconds, the longest first.
std::vector<uint64_t> gaps(uint64_t for_ns);

// The median of the `count` longest, which are taken to be the gaps of `count` interrupts; 0
// without any.
uint64_t median_of_longest(const std::vector<uint64_t>& gaps, size_t count);

// The CPU that the kernel uses to deliver a sampling signal to a thread and to return from it,
// measured with signals that do nothing.
struct SignalCost {
  uint64_t timer_ns = 0;  // for a CPU timer: it rides on a tick of the kernel
  uint64_t perf_ns = 0;   // for a perf event, with its interrupt; 0: not measured
  uint64_t beat_ns = 0;   // for a signal from another CPU, with its interrupt; 0: not measured
};

// The interrupts whose cost is measured: those of the timers alone, whose signals ride on the kernel's tick, or others too.
enum class Interrupts { kOfTimers, kOfPerf, kOfBeats };

// Takes less than a tenth of a millisecond; with interrupts, three milliseconds. The calling thread
// must have no use of SIGPROF.
SignalCost measure_signal_cost(Interrupts interrupts);

// The kernel permits this process the perf event that the shim's threads would open.
bool perf_clock_permitted();

}  // namespace sampan::sampler
