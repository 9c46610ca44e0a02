// Writes a recording, append-only, in blocks that are whole or absent (format.h). What has been
// flushed survives the death of this process.
//
// Every `add` returns the index of the new row. Rows may refer only to rows that were added before.
// Errors: throws Error (base/error.h) with the file's name, e.g. when the disk is full.
#pragma once

#include <memory>
#include <span>
#include <string>

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
  void add(const ThreadEnd& end);
  void add(const ProcessEnd& end);
  void add(const Losses& losses);

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

  // Writes out what is pending when it is large or older than a second; cheap otherwise.
  void tick(uint64_t now_ns);
  void flush();
  // Flushes, writes the end block, closes.
  void finish(const SessionEnd& end);

  uint64_t samples() const;
  const std::string& path() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sampan::recording
