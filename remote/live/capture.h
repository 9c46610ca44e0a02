// A recording that is read while it is made, by `top` and `serve`: a recorder, which is a sampan in
// a process of its own, and the directory that it records into. A read costs the recorder a flush;
// errors on this side do not affect it.
//
// Times are nanoseconds since the session's start.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "recording/reader.h"
#include "remote/live/live_directory.h"
#include "remote/live/recorder_config.h"

namespace sampan::live {

struct CaptureOptions {
  RecorderConfig recorder;
  // The program's stdin, stdout and stderr become /dev/null: the terminal is not the program's.
  // Otherwise they are ours, and the recorder prints its messages on stderr.
  bool detached_streams = false;
  // A directory below which the recording is kept after the capture, by the recorder's rotate and
  // keep. "": the recording is removed with the capture.
  std::string kept_in = {};
};

class Capture {
 public:
  // Starts the recorder, and returns when the recording has begun. Throws Error with the
  // recorder's message if it does not begin.
  explicit Capture(const CaptureOptions& options);
  ~Capture();  // ends the sampling, as Ctrl-C does, and removes the recording unless it is kept
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  // Makes the recorder write what has happened up to now. Throws Error when it refuses or does not
  // answer; does nothing once it has ended.
  void flush();
  // What was recorded from `from_ns` to `to_ns`, but at most the last quarter of an hour, however
  // much is kept. Only the files of that time are read, so the cost does not grow with the capture.
  // The recording has an end if the capture is over(). Times are those of the session;
  // recording::rebased() makes a recording that begins at `from_ns`.
  recording::Recording read(SessionNs from_ns = 0, SessionNs to_ns = UINT64_MAX) const;
  SessionNs now_ns() const;

  // Does what `sampan ctl` does: "pause", "resume", "rate 100". Returns the answer; throws Error.
  std::string control(std::string_view command);

  // Whether the recorder has ended. Its recording can still be read.
  bool over();
  // Ends the sampling, if it is not over. Returns the recorder's exit status.
  int finish();

  const std::string& directory() const { return directory_; }
  pid_t recorder() const { return recorder_; }  // 0: it has ended

 private:
  void await_recording();
  void find_directory();
  std::string recorder_output() const;

  LiveDirectory base_;               // the log, and the run unless it is kept
  std::string directory_;            // of the run, in it
  std::atomic<pid_t> recorder_ = 0;  // 0: reaped
  int status_ = 0;
  SessionClock clock_;
  std::string kept_in_;
};

}  // namespace sampan::live
