// The perf engine: the kernel samples the threads, and this turns its records into samples. The
// target is never stopped. A thread that runs Python is kept waiting for its CPU while its frames are
// read (sample_capture.h).
//
// When a thread moves from CPU to CPU, its records move from ring to ring, so each round merges the
// rings by time. A record that is being written at that moment comes a round later.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "sampler/perf/perf_events.h"
#include "sampler/perf/perf_ring.h"
#include "sampler/perf/sample_capture.h"
#include "sampler/process/cpu_accounting.h"
#include "sampler/process/remote_memory.h"
#include "sampler/recorder/attached_process.h"
#include "sampler/recorder/source.h"

namespace sampan::sampler {

// Measures on this thread what a sample costs, in ns: the interrupt, and the copy of a stack.
// Others may have the CPU meanwhile. Throws Refused.
uint64_t measure_sample();

class PerfEngine : public Engine {
 public:
  // `follow`: children too. Throws Refused.
  PerfEngine(RecordingSession& session, AttachedProcesses targets, bool follow);
  ~PerfEngine() override;

  void attach(pid_t pid) override;
  void read(MonotonicNs now_ns) override;
  void set_rate(uint32_t rate_hz) override;
  uint64_t cost_ns() const override;
  std::string note() const override;

 private:
  // A thread's CPU clock by perf: the sum of one event per CPU. It also counts stolen time.
  struct Clock {
    uint64_t start_ns = 0;         // where it stood when it became readable
    uint64_t now_ns = 0;           // at the thread's latest sample
    uint64_t stolen_ns = 0;        // included in now_ns
    std::vector<uint64_t> values;  // of its event on each CPU, when it was seen last
    bool readable = false;         // by PerfEvents::clock_ns, from start_ns to its end
    MonotonicNs end_ns = 0;        // when it ended; 0: lives
    bool runs_python = true;       // as far as its captured samples say

    CpuNs cpu_ns() const { return CpuNs::at(now_ns - stolen_ns); }
  };
  struct Process {
    std::unordered_map<pid_t, Clock> threads;
    std::vector<pid_t> announced;                     // threads that have inherited their events
    std::vector<pid_t> ended;                         // threads that may not have come to rest yet
    std::shared_ptr<const PythonInterpreter> python;  // null: none that is known
  };

  bool open_new_threads(pid_t pid);
  void change_events(uint32_t rate_hz, bool wakes_at_samples);
  bool prepare_threads();
  void begin_clocks_anew(MonotonicNs now_ns);
  void open_clocks(pid_t pid, Process& process);
  void drain();
  void take(size_t cpu, const PerfIdentity& identity, PerfBytes record);
  void take_sample(size_t cpu, const PerfIdentity& identity, PerfBytes record);
  void take_fork(const PerfIdentity& identity, const PerfTask& task);
  void take_comm(const PerfIdentity& identity, const PerfComm& comm);
  void take_exit(const PerfIdentity& identity);
  void settle_ends(pid_t pid, Process& process, MonotonicNs time_ns);
  CpuNs cpu_clock(size_t cpu, const PerfIdentity& identity, uint64_t value);
  void advance(Clock& clock, size_t cpu, uint64_t value);
  void take_stolen(Clock& clock, const PerfIdentity& identity);
  void begin_captures();
  void capture_from_now_on();
  void follow_python(pid_t pid, Process& process);
  std::vector<uint64_t> claim_rings();
  CapturedSample* captured(size_t cpu, uint64_t position);
  void add_captured(const PerfIdentity& identity, CpuNs cpu_ns, const PerfSample& sample,
                    CapturedSample& captured);
  void count_lost(pid_t pid, wire::Loss loss, uint64_t records);
  Clock& clock_of(Process& process, const PerfIdentity& identity);

  EventLoop& loop_;
  const bool reads_python_;
  AttachedProcesses targets_;
  uint32_t rate_hz_;
  const bool follow_;
  const uint64_t sample_ns_;  // CPU that a sample costs a thread here
  PerfEvents events_;
  StolenTime stolen_;
  const uint64_t tick_ns_;  // of the kernel
  std::map<pid_t, Process> processes_;
  RemoteMemory memory_;
  uint64_t samples_ = 0;
  std::unique_ptr<SampleCapture> capture_;            // null: no Python was met
  std::vector<std::deque<CapturedSample>> captured_;  // by ring, while they are drained
  bool wants_captures_ = false;                       // Python was met since
  bool may_capture_ = true;                           // false: the events for it were refused
  uint64_t python_samples_ = 0, late_samples_ = 0;    // of threads that run Python
  // While the rate is changed: since when a thread has its new events, made or inherited.
  std::unordered_map<pid_t, MonotonicNs> prepared_;
  uint64_t unreadable_ = 0;  // records, not yet counted as lost
};

}  // namespace sampan::sampler
