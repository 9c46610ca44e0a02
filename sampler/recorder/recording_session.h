// A recording while it is made: one file or several, the processes in it, the rate, what sampling
// costs, pauses, and what `sampan ctl` asks for. A Source feeds it.
//
//   RecordingSession session(loop, options);
//   session.start(std::make_unique<SomeSource>(session, ...));
//   while (...) session.step();
//   session.detach();
//   session.finish(end);
//
// Errors: a failure to record (disk full) must not harm the program that runs. It is kept in
// failure(), nothing more is recorded, and everything else goes on. finish() throws it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/event_loop.h"
#include "base/file_descriptor.h"
#include "base/time.h"
#include "recording/writer.h"
#include "sampler/control/control_socket.h"
#include "sampler/recorder/kept_files.h"
#include "sampler/recorder/other_roots.h"
#include "sampler/recorder/rate_control.h"
#include "sampler/recorder/recorded_process.h"
#include "sampler/recorder/segments.h"
#include "sampler/recorder/source.h"

namespace sampan::sampler {

class RecordingSession {
 public:
  struct Options {
    std::string path;                // of the file to begin with
    recording::Session description;  // its time is that of the session's start
    RateOptions rate;
    bool paused = false;           // no samples until `ctl`, or the program, asks
    bool python = true;            // stacks that are read from outside have Python's frames, too
    Segments* segments = nullptr;  // outlives the session; null: one file
    bool saves_often = false;      // what is read, because we may be killed at any moment
  };
  // `observer` may be null.
  RecordingSession(EventLoop& loop, Options options, std::unique_ptr<Observer> observer = nullptr);
  ~RecordingSession();
  RecordingSession(const RecordingSession&) = delete;
  RecordingSession& operator=(const RecordingSession&) = delete;

  // Once.
  void start(std::unique_ptr<Source> source);
  // The process whose end is the program's.
  void set_root(pid_t pid) { root_ = pid; }

  // Waits until something happens or is due, at most `longest_ms` (-1: as long as it takes), and
  // does what is due.
  void step(int longest_ms = -1);
  // Samples per second of CPU from now on. Throws Error when the source cannot.
  void set_rate(uint32_t rate_hz);
  // Writes what there is now. Returns the file that has it: the only one, the segment that ended
  // thereby, or the black box. Throws Error.
  std::string flush();
  // What `sampan ctl` asks for.
  Controlled controlled();

  // Ends the sampling, and writes all but the recording's end. Once. Returns how many processes
  // live on.
  size_t detach();
  // After detach(). Adds the sampling clocks to `end`. Throws Error when the recording is incomplete.
  void finish(recording::SessionEnd end);

  size_t processes() const { return processes_.size(); }  // that are being recorded
  size_t joined() const { return joined_; }               // that ever were
  bool contains(pid_t pid) const { return processes_.contains(pid); }
  // Everything ends now, and somebody waits until it is recorded: see save().
  bool is_urgent() const { return static_cast<bool>(last_); }
  // Nothing more will be recorded.
  bool over() const { return processes_.empty() || !failure_.empty(); }
  const std::string& failure() const { return failure_; }
  const std::string& engine() const { return engine_; }  // its name; "preload" with the shim
  // The root has ended, and all of it is recorded.
  bool root_ended() const { return root_ended_; }
  // The root is sampled from outside at the moment: what it did last may still come when it has ended.
  bool follows_root_from_outside() const;
  const ExitState& root_exit() const { return root_exit_; }  // as far as it is known
  // When sampling of a process ended last; CLOCK_MONOTONIC.
  MonotonicNs last_end_ns() const { return last_end_ns_; }
  // CPU that was used while sampling was off, by processes that have ended.
  uint64_t left_out_ns() const { return left_out_ns_; }
  // Modules that cannot be opened by their paths; each file once.
  std::vector<HiddenFile> hidden() const;
  std::string note() const { return source_ ? source_->note() : note_; }
  MonotonicNs start_ns() const { return clock_.start_ns; }

  // For the source.
  EventLoop& loop() { return loop_; }
  recording::Writer& writer() { return writer_; }
  SessionClock clock() const { return clock_; }
  uint32_t rate_hz() const { return rates_.rate_hz(); }
  bool paused() const { return paused_; }
  bool python() const { return python_; }
  pid_t root() const { return root_; }
  OtherRoots& roots() { return roots_; }
  KeptFiles& kept() { return kept_; }
  // Null: it is not recorded.
  RecordedProcess* find(pid_t pid);
  // A process is attached to just before it executes another program: its rows begin with that. 0: none is.
  void set_awaits_exec(pid_t pid) { awaits_exec_ = pid; }
  bool awaits_exec(pid_t pid) const { return pid == awaits_exec_; }
  // Follows it until it ends. Its pid is not that of another.
  RecordedProcess& add(std::unique_ptr<RecordedProcess> process);
  // Writes the end of the process, or of its image. `exit`: as far as the source knows. Does
  // nothing when the process is not recorded.
  void ended(pid_t pid, MonotonicNs time_ns, const ExitState& exit, bool replaced = false);
  // Writes what there is now. `last`: the connection of a process at whose end we are killed; closed by finish().
  void save(FileDescriptor last);
  // Calls `write` unless recording has failed; a failure in it is kept in failure().
  template <typename F>
  void attempt(F&& write);

 private:
  struct Entry {
    std::unique_ptr<RecordedProcess> process;
    FileDescriptor pidfd;    // none while descriptors have run out
    MonotonicNs end_ns = 0;  // 0: it lives
  };

  void fail(const std::exception& error);
  void watch_end(pid_t pid, Entry& entry);
  MonotonicNs next_ns(MonotonicNs now_ns) const;
  void read(MonotonicNs now_ns);
  void read_rest();
  void look(MonotonicNs now_ns);
  void tick_processes(MonotonicNs now_ns);
  void follow_rate(uint32_t before_hz);
  void set_paused(bool paused);
  void set_watched(recording::Watched what, uint64_t setting);
  std::string status() const;
  void observe_cost();
  void end_segment();
  void sync();
  void forget(Entry& entry);

  EventLoop& loop_;
  SessionClock clock_;
  recording::Writer writer_;
  RateControl rates_;
  bool paused_;
  const bool python_;
  const bool saves_often_;
  FileDescriptor last_;
  Segments* segments_;
  OtherRoots roots_;
  KeptFiles kept_;
  std::map<pid_t, Entry> processes_;
  std::unique_ptr<Observer> observer_;  // refers to processes
  std::unique_ptr<Source> source_;
  pid_t root_ = 0;
  pid_t awaits_exec_ = 0;
  bool root_ended_ = false;
  ExitState root_exit_;
  size_t joined_ = 0;
  MonotonicNs last_end_ns_ = 0;
  uint64_t left_out_ns_ = 0;
  uint64_t ended_cpu_ns_ = 0;
  MonotonicNs next_look_ns_ = 0, next_refresh_ns_ = 0, next_save_ns_ = 0;
  std::vector<HiddenFile> hidden_;  // of processes that have ended
  std::string note_;                // of the source that was
  uint32_t sampling_clocks_ = 0;    // of it, too
  std::string failure_;
  const std::string engine_;
};

template <typename F>
void RecordingSession::attempt(F&& write) {
  if (!failure_.empty()) return;
  try {
    write();
  } catch (const std::exception& error) {
    fail(error);
  }
}

}  // namespace sampan::sampler
