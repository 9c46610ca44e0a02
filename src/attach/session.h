// The sampling of a process from outside, from the choice of an engine to the end of the recording.
//
//   Session session(loop, pid, options);   // attached
//   while (!session.over()) session.step();
//   session.finish(end);
//
// Errors: throws Error with a sentence for the person: NotPermitted, the disk is full.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "attach/engine.h"
#include "attach/recorded_targets.h"
#include "recording/writer.h"
#include "sampler/control_socket.h"
#include "sampler/event_loop.h"
#include "sampler/rate_control.h"
#include "sampler/segments.h"

namespace sampan::attach {

// No engine is permitted for this process: the message says why, for each.
class NotPermitted : public Error {
 public:
  using Error::Error;
};

struct SessionOptions {
  std::string recording;           // the file to write
  recording::Session description;  // its engine is filled in
  sampler::RateOptions rate;
  std::optional<EngineKind> engine;       // absent: the best that is permitted
  bool follow;                            // children too
  bool paused = false;                    // no samples until `ctl` asks for them
  bool awaits_exec = false;               // a child of ours that has yet to become the program
  sampler::Segments* segments = nullptr;  // outlives the session; one file without
};

class Session {
 public:
  // Attaches to `pid`. Engines are tried from the best to the least; what each was refused for is
  // in the Error when none is permitted.
  Session(sampler::EventLoop& loop, pid_t pid, const SessionOptions& options);
  ~Session();  // detaches

  // Waits until something happens, at most `longest_ms`, and does what is due.
  void step(int longest_ms = kTickMs);
  // All processes have ended.
  bool over() const { return targets_->alive() == 0; }
  // The process that was attached to has ended, and all of it is recorded.
  bool root_ended() const { return targets_->root_ended(); }

  // Samples per second of CPU from now on. Throws Error when the engine cannot.
  void set_rate(uint32_t rate_hz);

  // What there is now is written; returns the file that has it, see sampler/collector.h.
  std::string flush();
  // What `sampan ctl` asks for.
  sampler::Controlled controlled();

  // Detaches, and completes the recording but for its end: call once.
  void detach();
  struct Outcome {
    bool root_ended;
    sampler::ExitState root_exit;  // as far as it is known
    uint64_t end_ns;               // CLOCK_MONOTONIC
  };
  const Outcome& outcome() const { return outcome_; }
  // After `detach`.
  void finish(const recording::SessionEnd& end);

  uint64_t start_ns() const { return start_ns_; }
  EngineKind engine() const { return kind_; }
  // What the engine wants the person to know.
  std::string note() const { return engine_ ? engine_->note() : note_; }

  // Modules that their paths do not name.
  std::vector<HiddenFile> hidden() const { return targets_->hidden(); }

  static constexpr int kTickMs = 50;

 private:
  uint64_t session_time(uint64_t monotonic_ns) const { return monotonic_ns - start_ns_; }
  void end_segment();
  void follow_rate();
  void observe_cost();
  void write_cost();
  void set_tick();
  void sync();
  void begin(EngineKind kind, pid_t pid, const SessionOptions& options);

  sampler::EventLoop& loop_;
  uint64_t start_ns_;
  bool waits_ = false;  // waiting threads are looked at too, at the rate
  int tick_ms_ = kTickMs;
  sampler::Segments* segments_;
  std::unique_ptr<recording::Writer> writer_;
  std::unique_ptr<sampler::RateControl> rates_;
  std::unique_ptr<RecordedTargets> targets_;
  std::unique_ptr<Engine> engine_;
  EngineKind kind_{};
  std::string note_;  // of the engine that was
  Outcome outcome_{};
};

}  // namespace sampan::attach
