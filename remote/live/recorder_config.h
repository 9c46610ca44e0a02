// The settings of a recorder that `top` or `serve` starts: another sampan, which reads them from a
// descriptor that it inherits.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "sampler/recorder/source.h"

namespace sampan::live {

struct RecorderConfig {
  std::vector<std::string> command = {};  // to be launched; empty: `pid` is attached to
  pid_t pid = 0;
  uint32_t rate_hz = 100;
  std::string clock = "cpu";           // or "wall"
  sampler::WatchOptions watched = {};  // only of a command
  std::string max_overhead = {};       // "1%", "none"; "": the ceiling
  std::string engine = "auto";         // for attaching
  bool follow = true;                  // children too
  // The length of a file of the recording, and how much is kept: durations or sizes. "": the
  // defaults of Capture.
  std::string rotate = {}, keep = {};
  std::string mode = "600";  // permissions of the recording
  struct Push {
    std::string url = {}, format = {}, spool = {}, spool_size = {}, token_file = {}, ca_file = {};
    std::vector<std::string> labels = {}, headers = {};
  };
  Push push = {};  // without a url nothing is pushed

  // Filled in by Capture.
  int owner = -1;  // a pidfd of ours, which the recorder of a command inherits: it ends with us
  std::string output = {};                    // the directory that the run's directory is made in
  std::vector<std::string> environment = {};  // of the command, "NAME=value"
};

// Returns a descriptor (CLOEXEC) to read the config from. Throws Error.
FileDescriptor write_config(const RecorderConfig& config);
// Reads it, and closes the descriptor. Throws Error.
RecorderConfig read_config(int fd);

}  // namespace sampan::live
