// A capture that goes on while somebody looks: `sampan run` or `sampan attach` in a process of its
// own, and the directory that it records into. `top` and `serve` look. Looking costs the capture a
// flush, and what goes wrong on this side does not reach it.
//
// Times are nanoseconds since the session's start.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recording/reader.h"

namespace sampan::live {

struct CaptureOptions {
  // "attach", "--rate", "100", "4711", or "run", "--", "redis-server": without what says where the
  // results go.
  std::vector<std::string> arguments;
  // The program's stdin, stdout and stderr become /dev/null: the terminal is somebody else's. Else
  // they are ours, and the recorder says on stderr what it has to say.
  bool detached_streams = false;
  // A directory below which the recording stays when the capture is over, with --rotate and --keep
  // among the arguments. "": it goes with the capture.
  std::string kept_in = {};
};

class Capture {
 public:
  // Starts it, and returns when its recording has begun. Throws Error with what sampan says when
  // there is none.
  explicit Capture(const CaptureOptions& options);
  ~Capture();  // ends the sampling, as Ctrl-C does, and takes away what is not to be kept
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  // What has happened up to now is there to be read. Throws Error when the recorder refuses, or
  // says nothing; does nothing once it has ended.
  void flush();
  // What was recorded from `from_ns` to `to_ns`, of the last quarter of an hour, however much is
  // kept: read from the files of that time, so its cost does not grow with the capture. It has an
  // end when the capture is over(). Times stay those of the session; recording::rebased() makes a
  // recording that begins at `from_ns`.
  recording::Recording read(uint64_t from_ns = 0, uint64_t to_ns = UINT64_MAX) const;
  uint64_t now_ns() const;

  // As `sampan ctl` does: "pause", "resume", "rate 100". Returns what that says; throws Error.
  std::string control(std::string_view command);

  // The recorder has ended: what it left behind can be read as before.
  bool over();
  // How, once it is over: its exit status, and what it said. As Capture's destructor does, it ends
  // the sampling first.
  int finish();

  const std::string& directory() const { return directory_; }
  pid_t recorder() const { return recorder_; }  // 0: it has ended

 private:
  void await_recording();
  void find_directory();
  std::string recorder_output() const;

  std::string base_;                 // a directory of our own
  std::string directory_;            // of the run, in it
  std::atomic<pid_t> recorder_ = 0;  // 0: reaped
  int status_ = 0;
  uint64_t start_monotonic_ns_ = 0;
  std::string kept_in_;
};

}  // namespace sampan::live
