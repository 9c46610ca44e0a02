// Writes a recording, append-only, in blocks that are whole or absent (format.h). What has been
// flushed survives the death of this process.
//
// Every `add` returns the index of the new row. Rows may refer only to rows that were added before.
//
// A recording that goes on for long is several files, segments: rotate() goes on in the next one.
// What `add` has returned for processes, threads and modules stays good then: they are rows of the
// new file too as soon as something refers to them, and those that live at once. Frames, stacks and
// waits are forgotten: generation() says when. Memory does not grow with the number of files.
//
// Errors: throws Error (base/error.h) with the file's name, e.g. when the disk is full.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "recording/markers.h"
#include "recording/tables.h"

namespace sampan::recording {

class Writer {
 public:
  // Creates `path`, which must not exist, and writes the session block, and that of the origins
  // where there are any.
  Writer(const std::string& path, const Session& session, std::span<const Origin> origins = {});
  ~Writer();  // without finish(): flushes what it can, silently
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  uint32_t add(const Process& process);
  uint32_t add(const Thread& thread);
  uint32_t add(const Module& module);  // the same row for the same path and build-id
  void add(const ThreadName& name);
  // What ends say of CPU is since the thread or process began, whatever segment that was in.
  void add(const ThreadEnd& end);
  void add(const ProcessEnd& end);
  void add(const Losses& losses);
  // The next files begin with the latest of them.
  void add(const RateChange& change);
  void add(const Cost& cost);

  // Interned: the index of the frame or stack, old or new.
  uint32_t frame(const Frame& frame);
  uint32_t stack(uint32_t prefix, uint32_t frame);
  // The stack of `frames`, leaf first.
  uint32_t stack(std::span<const Frame> frames);

  // The same of a wait; where too many have different objects, without its object.
  uint32_t wait(const Wait& wait);

  // Its time is cut to ten microseconds, its weight to one: the rest is added to the next sample of
  // the thread, so that the sums of a thread's CPU and waiting times stay right.
  void add(const Sample& sample);

  // What the program said. What text() has given is good for the next marker that is added, and no
  // longer: a block may end with it.
  uint32_t text(std::string_view text);
  void add(const Span& span);
  void add(const Event& event);
  void add(const CounterValue& value);
  void add(const Section& section);
  void add(const Pause& pause);
  void add(const Label& label);

  // Writes out what is pending when it is large or older than a second; cheap otherwise.
  void tick(uint64_t now_ns);
  void flush();

  // Before rotate(), for each thread and process that lives: what it has used up to now, without
  // what its samples do not say yet. It is the end of what this segment has of it.
  void account(const ThreadEnd& so_far);
  void account(const ProcessEnd& so_far);
  // Completes the file, with `time_ns` as its end, and goes on in `path`, which must not exist.
  void rotate(const std::string& path, uint64_t time_ns);
  // Grows by one with each rotate().
  uint64_t generation() const;

  // Flushes, writes the end block, closes.
  void finish(const SessionEnd& end);

  uint64_t samples() const;  // of all files
  // Of the present file: written so far; when it began; its name.
  uint64_t bytes() const;
  uint64_t begin_ns() const;
  const std::string& path() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sampan::recording
