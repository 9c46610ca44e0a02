// Writes a recording, append-only, in blocks that are whole or absent (format.h). What has been
// flushed survives the death of this process.
//
// Every `add` returns the index of the new row. Rows may refer only to rows that were added before.
//
// A long recording consists of several files, segments: rotate() continues in the next one. Handles
// of processes, threads and modules stay valid: living ones become rows of the new file at once,
// others when something refers to them. Frames, stacks and waits become invalid: generation() says
// when. Memory does not grow with the number of files.
//
// Errors: throws Error (base/error.h) with the file's name, e.g. when the disk is full.
#pragma once

#include <sys/types.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/time.h"
#include "recording/names.h"
#include "recording/tables.h"

namespace sampan::recording {

// The permissions of the files that this process creates from now on. Until then they are 0600: a recording holds
// command lines and paths.
void set_file_mode(mode_t mode);

class KeptStacks;

class Writer {
 public:
  // Creates `path`, which must not exist, and writes the blocks of the session and of the origins,
  // if there are any.
  Writer(const std::string& path, const Session& session, std::span<const Origin> origins = {});
  ~Writer();  // without finish(): flushes what it can, silently
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  uint32_t add(const Process& process);
  uint32_t add(const Thread& thread);
  uint32_t add(const Module& module);  // the same row for the same path and build-id
  void add(const ThreadName& name);
  // CPU of ends counts from the begin of the thread or process, in whichever segment that was.
  void add(const ThreadEnd& end);
  void add(const ProcessEnd& end);
  void add(const Losses& losses);
  // The next files begin with the latest one.
  void add(const RateChange& change);
  void add(const Cost& cost);

  // A new row; the file has no equal one.
  uint32_t add(const Frame& frame);
  uint32_t add(const Stack& stack);
  // Interned: the index of the frame or stack, old or new.
  uint32_t frame(const Frame& frame);
  // The frame with this name, which is written when the frame is new.
  uint32_t frame(const Frame& frame, const FrameName& name);
  // Names a frame that has another name so far.
  void rename(uint32_t frame, const FrameName& name);
  // Names a frame of code that was made at run time; the row's own handle of a name is ignored.
  void add(const JitName& row, std::string_view name);
  uint32_t stack(uint32_t prefix, uint32_t frame);
  // The stack of `frames`, leaf first.
  uint32_t stack(std::span<const Frame> frames);

  // The same for a wait; without its object when there are too many different ones.
  uint32_t wait(const Wait& wait);

  // The context of a sample. Valid for the next sample only: a block may end with it.
  uint32_t context(const TraceContext& context);

  // The time is truncated to 10 µs, the weight to 1 µs. The remainder is added to the thread's next
  // sample, so that the sums of a thread's CPU and waiting times stay exact.
  void add(const Sample& sample);

  // What is recorded besides samples. Times are kept to the nanosecond. The next files begin with the
  // latest setting of each living process. Stacks and frames are rows of the present file; a handle of a
  // lock stays valid.
  void add(const WatchChange& change);
  void add(const Allocation& allocation);
  void add(const Free& free);
  uint32_t add(const Lock& lock);
  void add(const LockWait& wait);
  // For a session of several files, before the first row: from now on, the stacks of a file are kept in
  // memory until the next one begins. Then each file begins with the sampled blocks that live, and locks
  // have their frames in later files, too. Living blocks beyond a million are left out of later files;
  // they are counted as Loss::kAllocationLost.
  void keep_living();

  // Markers. A handle of text() is valid for the next marker only: a block may end with it.
  uint32_t text(std::string_view text);
  void add(const Span& span);
  void add(const Event& event);
  void add(const CounterValue& value);
  void add(const Section& section);
  void add(const Pause& pause);
  void add(const Label& label);
  // Its times are truncated as those of samples are.
  void add(const Step& step);

  // Writes pending rows when they are many or older than a second; cheap otherwise.
  void tick(MonotonicNs now_ns);
  void flush();

  // Call before rotate() for each living thread and process: the CPU that it has used up to now and
  // that its samples have. This becomes its end in this segment.
  void account(const ThreadEnd& so_far);
  void account(const ProcessEnd& so_far);
  // Completes the file, with `time_ns` as its end, and continues in `path`, which must not exist.
  void rotate(const std::string& path, SessionNs time_ns);
  // Grows by one with each rotate().
  uint64_t generation() const;

  // Flushes, writes the end block, closes.
  void finish(const SessionEnd& end);

  uint64_t samples() const;  // of all files
  // The current file: bytes written so far, its begin, its name.
  uint64_t bytes() const;
  SessionNs begin_ns() const;
  const std::string& path() const;

 private:
  void write_living(KeptStacks& before);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sampan::recording
