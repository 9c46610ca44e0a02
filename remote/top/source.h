// Where top gets its data: from its own capture, or from a capture that another sampan serves.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "base/time.h"
#include "recording/reader.h"
#include "remote/live/capture.h"

namespace sampan::top {

// Finds the new samples of a recording that is read again and again.
//
// A sample may be written after later ones: a wait is written when it ends, or after a second. But
// the samples of one thread and wait are written in the order of their times.
class NewSamples {
 public:
  // The maximum delay between a sample's time and its writing, in ns: reading starts this long
  // before the last read.
  static constexpr uint64_t kMaxDelayNs = 2'500'000'000;

  // Removes the samples that earlier calls have kept.
  void keep(recording::Recording* recording);

 private:
  using Key = std::tuple<int32_t, uint64_t, std::string, std::string>;  // tid, start, wait
  std::map<Key, SessionNs> last_ns_;
};

struct Slice {
  recording::Recording recording;    // only new samples
  SessionNs from_ns = 0, to_ns = 0;  // the time of the samples, since the session's start
};

class Source {
 public:
  virtual ~Source() = default;

  // What was recorded since the last call; in the first call, since the begin. Throws Error.
  virtual Slice next() = 0;
  // Everything from that time on that is still available. Throws Error.
  virtual recording::Recording since(SessionNs from_ns) = 0;
  virtual SessionNs now_ns() const = 0;
  // As `sampan ctl`. Returns its reply. Throws Error.
  virtual std::string control(const std::string& command) = 0;
  // Nothing new will come: the process or its sampling has ended.
  virtual bool over() = 0;
  // Ends the capture. Returns the program's exit status if the capture started the program.
  virtual std::optional<int> finish() = 0;
};

// `runs_command`: the capture starts the program itself.
std::unique_ptr<Source> capture_source(const live::CaptureOptions& options, bool runs_command);
// The capture of a `sampan serve` at `url`, "http://host:port". `token`: a bearer token, or "".
std::unique_ptr<Source> remote_source(std::string url, std::string token);

}  // namespace sampan::top
