// The perf engine: the kernel samples the threads, and this turns its records into samples of the
// recording. The target is never stopped.
//
// A thread moves from CPU to CPU, and its records with it from ring to ring: each round merges what
// the rings hold by time. A record that was being written at that moment comes a round later.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "attach/engine.h"
#include "attach/perf_events.h"
#include "attach/perf_records.h"
#include "attach/remote_memory.h"
#include "attach/stolen_time.h"

namespace sampan::attach {

class PerfEngine : public Engine {
 public:
  PerfEngine(sampler::EventLoop& loop, Targets& targets, const EngineOptions& options);
  ~PerfEngine() override;

  EngineKind kind() const override { return EngineKind::kPerf; }
  void attach(pid_t pid) override;
  void tick(uint64_t now_ns) override;
  void set_rate(uint32_t rate_hz) override;
  uint64_t cost_ns() const override;
  std::string note() const override;

 private:
  // A thread's clock by perf, put together of one event per CPU. It runs on in time that is stolen.
  struct Clock {
    uint64_t start_ns = 0;         // where it stood when it became readable
    uint64_t now_ns = 0;           // at the thread's latest sample
    uint64_t stolen_ns = 0;        // of that
    std::vector<uint64_t> values;  // of its event on each CPU, when it was seen last
    bool readable = false;         // by PerfEvents::clock_ns, from start_ns to its end
    uint64_t end_ns = 0;           // when it ended; 0: lives

    uint64_t cpu_ns() const { return now_ns - stolen_ns; }
  };
  struct Process {
    std::unordered_map<pid_t, Clock> threads;
    std::vector<pid_t> announced;  // threads that have inherited their events
    std::vector<pid_t> ended;      // threads that may not have come to rest yet
  };

  bool open_new_threads(pid_t pid);
  bool prepare_threads();
  void begin_clocks_anew(uint64_t now_ns);
  void open_clocks(pid_t pid, Process& process);
  void drain();
  void take(size_t cpu, const PerfIdentity& identity, PerfRing::Record record);
  void take_sample(size_t cpu, const PerfIdentity& identity, PerfRing::Record record);
  void take_fork(const PerfIdentity& identity, const PerfTask& task);
  void take_comm(const PerfIdentity& identity, const PerfComm& comm);
  void take_exit(const PerfIdentity& identity);
  void settle_ends(pid_t pid, Process& process, uint64_t time_ns);
  uint64_t cpu_clock(size_t cpu, const PerfIdentity& identity, uint64_t value);
  void advance(Clock& clock, size_t cpu, uint64_t value);
  void take_stolen(Clock& clock, const PerfIdentity& identity);
  void count_lost(pid_t pid, wire::Loss loss, uint64_t records);
  Clock& clock_of(Process& process, const PerfIdentity& identity);

  sampler::EventLoop& loop_;
  Targets& targets_;
  EngineOptions options_;
  const uint64_t sample_ns_;  // CPU that a sample costs a thread here
  PerfEvents events_;
  StolenTime stolen_;
  const uint64_t tick_ns_;  // of the kernel
  std::map<pid_t, Process> processes_;
  RemoteMemory memory_;
  uint64_t samples_ = 0;
  // While the rate is changed: since when a thread has its new events, made or inherited.
  std::unordered_map<pid_t, uint64_t> prepared_;
  uint64_t unreadable_ = 0;  // records, not yet counted as lost
};

}  // namespace sampan::attach
