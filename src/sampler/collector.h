// Gathers what the processes of a session record, and writes it into one recording: takes processes
// in as they join, drains their rings, notices their ends. One thread, woken by an EventLoop.
//
// A process that joins again has replaced itself by exec: its old image ends, a new one begins.
//
// Errors: what goes wrong while recording (disk full) must not harm the program that runs. It is
// kept in `failure`, sampling is switched off, and everything else goes on.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "recording/writer.h"
#include "sampler/control_socket.h"
#include "sampler/event_loop.h"
#include "sampler/rate_control.h"
#include "sampler/segments.h"
#include "sampler/session_socket.h"
#include "sampler/target_process.h"

namespace sampan::sampler {

// Somebody who looks at the processes of a session from outside too (--clock wall). What it writes
// goes through the rows that the processes have; what they recorded themselves was drained before.
class Onlooker {
 public:
  virtual ~Onlooker() = default;
  virtual void began(TargetProcess& process) = 0;
  // At the rate that holds, as far as a timer of milliseconds goes.
  virtual void look(uint64_t now_ns) = 0;
  // The segment of the recording ends; the next look is of the next one.
  virtual void end_segment(uint64_t now_ns) = 0;
  // The process, or its image, has ended: its last rows are to be written now.
  virtual void ended(pid_t pid, uint64_t now_ns) = 0;
};

class Collector {
 public:
  struct Options {
    std::string session;  // the socket's name
    uint64_t start_ns;    // of the session, CLOCK_MONOTONIC
    RateOptions rate;
    bool follow;  // children too
    OpenIntervals::Switches switches = {};
    Onlooker* onlooker = nullptr;  // must outlive the collector
    Segments* segments = nullptr;  // the same; the recording is one file without
  };
  // Listens from now on. Throws Error when the socket cannot be opened.
  Collector(EventLoop& loop, recording::Writer& writer, const Options& options);
  ~Collector();

  // The first process: without `follow` the only one that is let in.
  void set_root(pid_t pid) { root_ = pid; }

  // Waits for events, and drains when that is due. Once. Without processes it waits at most
  // `idle_ms`; -1: for ever.
  void step(int idle_ms = -1);
  // What there is now is written. Returns the file that has it: the only one, the segment that
  // ended thereby, or the black box. Throws Error.
  std::string flush();
  // Samples per second of CPU from now on, of all processes. Throws Error for one that there is
  // not.
  void set_rate(uint32_t rate_hz);
  // What `sampan ctl` asks for. Pauses are those of all processes, and of those that join later.
  Controlled controlled();

  // Drains everything a last time, writes the ends of the processes that have ended, and switches
  // sampling off in those that have not. Returns how many those are.
  size_t finish();

  size_t processes() const { return processes_.size(); }
  // CPU that was used while sampling was off, by processes that have ended.
  uint64_t left_out_ns() const { return left_out_ns_; }
  // Processes that have joined in all.
  size_t joined() const { return joined_; }
  // When the latest of them ended; CLOCK_MONOTONIC.
  uint64_t last_end_ns() const { return last_end_ns_; }
  // How the root ended, as far as that is known.
  const ExitState& root_exit() const { return root_exit_; }
  const std::string& failure() const { return failure_; }

 private:
  struct Entry {
    FileDescriptor pidfd;
    std::unique_ptr<TargetProcess> process;
    std::optional<uint64_t> cpu_clock_ns;  // when it could be read last

    uint64_t cpu_ns() const;  // of the image
  };

  void accept_all();
  void greet(int connection);
  void take_in(Peer peer, const wire::Hello& hello);
  void process_ended(pid_t pid, bool replaced);
  void drain_all(uint64_t now_ns);
  void look(uint64_t now_ns);
  void adapt_period(const TargetProcess::Drained& drained);
  void read_slow_counters(uint64_t now_ns);
  void set_paused(bool paused);
  void follow_rate();
  void observe_cost();
  void sync();
  void end_segment();
  uint64_t session_time(uint64_t monotonic_ns) const;
  template <typename F>
  void guarded(F&& write);

  EventLoop& loop_;
  recording::Writer& writer_;
  Options options_;
  SessionSocket socket_;
  pid_t root_ = 0;
  std::map<int, Peer> guests_;  // connected, silent so far; by descriptor
  std::map<pid_t, Entry> processes_;
  size_t joined_ = 0;
  uint64_t last_end_ns_ = 0;
  uint64_t left_out_ns_ = 0;
  ExitState root_exit_;
  SignalCost signal_cost_;
  RateControl rates_;
  uint64_t ended_cpu_ns_ = 0, ended_cost_ns_ = 0;  // of the processes that have ended
  uint64_t period_ns_;
  uint64_t next_drain_ns_ = 0;
  uint64_t look_period_ns_;
  uint64_t next_look_ns_ = 0;
  uint64_t next_slow_ns_ = 0;
  bool listening_ = true;
  std::string failure_;
};

}  // namespace sampan::sampler
