// Samples the waiting threads of a process (--clock wall). It reads the threads at the sampling
// rate, without waking or stopping any, and writes a sample for each that waits. Samples on CPU
// come from the session's source.
//
// The weight of a waiting sample is the wall time that the thread waited, so CPU, waits and time in
// the queue for a CPU add up to the thread's life (waiting_thread.h). A thread that has not run
// since the latest look (its schedstat has not changed) keeps its stack, is looked at less and less
// often, and its wait is written once a second. Time in the queue for a CPU is a wait, too, with
// the call recording::kRunnable and without a stack.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "base/time.h"
#include "recording/writer.h"
#include "sampler/process/process_modules.h"
#include "sampler/process/remote_walker.h"
#include "sampler/recorder/recorded_process.h"
#include "sampler/recorder/source.h"
#include "sampler/recorder/stack_recorder.h"

namespace sampan::sampler {

class WaitSampler {
 public:
  struct Target {
    pid_t pid;
    SessionClock clock;
    // The row of a thread in the recording; kNone: not known yet, so it is not sampled.
    std::function<uint32_t(pid_t tid)> thread_row;
    // Brings `modules` up to date. Called now and then when a stack ends in unknown code.
    std::function<void(MonotonicNs now_ns)> refresh_modules = {};
    PythonReader* python = nullptr;  // null: Python's frames are not read
    // For which request a thread works; may be empty.
    std::function<wire::TraceContext(pid_t tid)> context_of = {};
  };
  // `modules`, `walker` and `stacks` are those of the process.
  WaitSampler(recording::Writer& writer, const Target& target, ProcessModules& modules,
              RemoteWalker& walker, StackRecorder& stacks);
  ~WaitSampler();

  // Looks at all threads that are due.
  void look(MonotonicNs now_ns);
  // Writes what is left of every thread. The next look begins anew.
  void finish(MonotonicNs now_ns);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The waiting threads of the processes of a session: a WaitSampler for each process.
class WaitObserver : public Observer {
 public:
  WaitObserver();
  ~WaitObserver() override;

  void began(RecordedProcess& process) override;
  void look(MonotonicNs now_ns) override;
  void end_segment(MonotonicNs now_ns) override;
  void ended(pid_t pid, MonotonicNs now_ns) override;

 private:
  struct Process;
  std::unordered_map<pid_t, std::unique_ptr<Process>> processes_;
};

}  // namespace sampan::sampler
