// The waiting half of `--clock wall`: looks at the threads of a process at the rate, without waking
// or stopping any, and writes a sample for each that waits. On-CPU samples come from the CPU clocks
// as ever.
//
// A waiting sample weighs the wall time that passed in it, so CPU, waits and time in the queue for
// a CPU add up to a thread's life (waiting_thread.h says how). A thread that has not run since (its
// schedstat stands still) keeps its stack without another look, is looked at less and less often,
// and its wait becomes one sample a second. Time in the queue for a CPU is a wait too, of the call
// recording::kRunnable and without a stack.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "attach/process_modules.h"
#include "attach/remote_walker.h"
#include "recording/writer.h"
#include "sampler/stack_recorder.h"

namespace sampan::attach {

class WaitSampler {
 public:
  struct Target {
    pid_t pid;
    uint64_t session_start_ns;  // CLOCK_MONOTONIC
    // The row of a thread in the recording; kNone when it is not known yet: not sampled then.
    std::function<uint32_t(pid_t tid)> thread_row;
    // Called when a stack ended where no module is known, now and then: brings `modules` up to
    // date.
    std::function<void(uint64_t now_ns)> refresh_modules = {};
  };
  // `modules`, `walker` and `stacks` are those of the process.
  WaitSampler(recording::Writer& writer, const Target& target, ProcessModules& modules,
              RemoteWalker& walker, sampler::StackRecorder& stacks);
  ~WaitSampler();

  // Looks at all threads that are due.
  void look(uint64_t now_ns);
  // Writes what is left of every thread. A look after that begins anew.
  void finish(uint64_t now_ns);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sampan::attach
