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
#include "sampler/event_loop.h"

namespace sampan::attach {

// No engine is permitted for this process: the message says why, for each.
class NotPermitted : public Error {
 public:
  using Error::Error;
};

struct SessionOptions {
  std::string recording;             // the file to write
  recording::Session description;    // its engine is filled in
  std::optional<EngineKind> engine;  // absent: the best that is permitted
  bool follow;                       // children too
  bool awaits_exec = false;          // a child of ours that has yet to become the program
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

  // After `detach`: modules that their paths do not name. They can be opened while this lives.
  const std::vector<HiddenFile>& hidden() const { return targets_->hidden(); }

  static constexpr int kTickMs = 50;

 private:
  void begin(EngineKind kind, pid_t pid, const SessionOptions& options);

  sampler::EventLoop& loop_;
  uint64_t start_ns_;
  int tick_ms_ = kTickMs;
  std::unique_ptr<recording::Writer> writer_;
  std::unique_ptr<RecordedTargets> targets_;
  std::unique_ptr<Engine> engine_;
  EngineKind kind_{};
  std::string note_;  // of the engine that was
  Outcome outcome_{};
};

}  // namespace sampan::attach
