// The source of processes that have the shim inside (wire/session.h): takes them in as they join,
// and reads their rings.
//
// A process that joins again has replaced itself by exec: its old image ends, a new one begins.
//
// Where the shim cannot follow (wire::Outside), an engine samples from outside, in the same session.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/time.h"
#include "sampler/recorder/interrupt_cost.h"
#include "sampler/recorder/recording_session.h"
#include "sampler/recorder/source.h"
#include "sampler/rings/drummer.h"
#include "sampler/rings/handshake.h"
#include "sampler/rings/shim_process.h"

namespace sampan::sampler {

class ShimSource : public Source {
 public:
  struct Options {
    std::string socket;  // its name
    bool follow;         // children too; else only the session's root is let in
    bool sections_only = false;
    bool python = true;  // stacks have the frames of an interpreter, too
    // An engine that is permitted for this process, attached to it; null when none is.
    std::function<std::unique_ptr<Engine>(pid_t)> engine_for = {};
    bool ends_with_namespace = false;  // the session does, see kernel_limits.h
    SamplingClock clock = SamplingClock::kAuto;
    WatchOptions watched = {};
  };
  // Listens from now on. Throws Error when the socket cannot be opened.
  ShimSource(RecordingSession& session, const Options& options);
  ~ShimSource() override;

  void read(MonotonicNs now_ns) override;
  MonotonicNs next_read_ns() const override { return engine_ ? MonotonicNs(0) : next_read_ns_; }
  void set_rate(uint32_t rate_hz) override;
  void set_watched(recording::Watched what, uint64_t setting) override;
  WatchOptions watched() const override { return options_.watched; }
  uint64_t cost_ns() const override;
  void process_ended(const RecordedProcess& process) override;
  std::string note() const override;
  uint32_t sampling_clocks() const override { return above_tick_ ? clocks_ : 0; }

 private:
  void listen();
  void accept_all();
  void greet(int connection);
  void take_in(Peer peer, const wire::Hello& hello);
  void see_off(Peer peer);
  void answer_wishes();
  pid_t asked_process(pid_t pid, pid_t inner) const;
  bool sample_outside(pid_t pid, bool awaits_exec);
  void measure_signals(uint32_t rate_hz);
  bool is_drummed(pid_t pid) const;
  void adapt_period(const ShimProcess::Drained& drained);

  RecordingSession& session_;
  Options options_;
  SessionSocket socket_;
  bool listening_ = false;
  std::map<int, Peer> guests_;               // connected, silent so far; by descriptor
  std::map<pid_t, ShimProcess*> processes_;  // the session's
  const bool perf_;          // the kernel permits the events of perf's clock, and they are wanted
  bool above_tick_ = false;  // the rate is or was
  uint32_t clocks_ = 0;      // of all processes, bits of SessionEnd::Clock
  std::unique_ptr<Drummer> drummer_;       // once a process is drummed
  std::unique_ptr<Engine> engine_;         // once it is needed
  size_t outside_ = 0;                     // processes that it was attached to
  std::optional<SignalCost> signal_cost_;  // once it is measured
  uint64_t ended_cost_ns_ = 0;             // of the processes that have ended
  uint64_t period_ns_;
  std::string note_;
  MonotonicNs next_read_ns_ = 0;
};

}  // namespace sampan::sampler
