// How a recording begins: by which source the processes are sampled, and who looks at them besides.
// A new engine is a file of its own and a line in a table of record.cpp.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sampler/recorder/recording_session.h"

namespace sampan::sampler {

// What a recording says about its circumstances: the machine, the kernel, the command, and the moment
// that its times count from, which is now. `name` stands for the program; empty: the command's file
// name.
recording::Session describe_session(const std::vector<std::string>& command,
                                    const std::string& name, uint32_t rate_hz,
                                    const std::string& version);

struct RecordOptions : RecordingSession::Options {  // the description's engine is filled in
  bool follow;                                      // children too
};

// A name for the socket by which processes with the shim join a session.
std::string random_socket_name();
struct ShimOptions {
  std::string socket;
  bool sections_only;
  bool python;                       // stacks have the frames of an interpreter, too
  bool ends_with_namespace = false;  // nobody waits for us: processes that take us with them do
  SamplingClock clock = SamplingClock::kAuto;
  WatchOptions watched = {};
};
std::unique_ptr<RecordingSession> record_with_shim(EventLoop& loop, const RecordOptions& options,
                                                   const ShimOptions& shim);

// The engines that sample from outside, the best first: "perf", "ptrace", "poll".
std::vector<std::string> engine_names();

// No engine is permitted for this process: the message says why, for each.
class NotPermitted : public Error {
 public:
  using Error::Error;
};

// Records `pid`, and its children if they are followed. `engine`: a name, or "auto": the first that
// is permitted; the recording's description names it. `awaits_exec`: a child of ours that has yet
// to become the program. Throws NotPermitted, and Error.
std::unique_ptr<RecordingSession> record_from_outside(EventLoop& loop, pid_t pid,
                                                      const RecordOptions& options,
                                                      std::string_view engine,
                                                      bool awaits_exec = false);

}  // namespace sampan::sampler
