// Where top takes what it shows from: a capture of its own, or one that another sampan serves.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "live/capture.h"
#include "recording/reader.h"

namespace sampan::top {

struct Slice {
  recording::Recording recording;   // its samples are new
  uint64_t from_ns = 0, to_ns = 0;  // when they were taken, since the session's start
};

class Source {
 public:
  virtual ~Source() = default;

  // What has been recorded since the last call; the first one, since the beginning. Throws Error.
  virtual Slice next() = 0;
  // All from that time on that is still to be had. Throws Error.
  virtual recording::Recording since(uint64_t from_ns) = 0;
  virtual uint64_t now_ns() const = 0;
  // As `sampan ctl` does. Returns what has become of it; throws Error.
  virtual std::string control(const std::string& command) = 0;
  // Nothing new will come: the process has ended, or its sampling has.
  virtual bool over() = 0;
  // Ends it. The exit status of the program, where it was started for this.
  virtual std::optional<int> finish() = 0;
};

// `runs_command`: the capture has started the program itself.
std::unique_ptr<Source> capture_source(const live::CaptureOptions& options, bool runs_command);
// Of `url`, "http://host:port", where `sampan serve` is. `token`: the bearer's, or "".
std::unique_ptr<Source> remote_source(std::string url, std::string token);

}  // namespace sampan::top
