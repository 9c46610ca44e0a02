// How `sampan ctl` reaches a recorder (run, attach, collect): an abstract SOCK_SEQPACKET socket,
// "sampan-ctl-" and random digits, that /proc/net/unix lists. One message goes each way.
//
//   there  "COMMAND PID TOKEN", COMMAND one of status, pause, resume, "rate HZ", flush, and sync,
//          which is flush without going on in another file; TOKEN may be empty
//          TEXT of sync is the path of the file, of the others a sentence
//   back   "done TEXT", "other": the process is not among ours, or "refused SENTENCE"
//
// The kernel says who asks: our own user or root, or nobody. Where a token is asked for, it must be
// the same.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "sampler/event_loop.h"
#include "sampler/file_descriptor.h"

namespace sampan::sampler {

inline constexpr std::string_view kControlPrefix = "sampan-ctl-";
inline constexpr size_t kMaxControlMessage = 8192;

// What a recorder does for `ctl`. Errors that are thrown go to the person who asked.
struct Controlled {
  std::function<bool(pid_t)> records;    // the process is one of the session
  std::function<void(bool)> set_paused;  // sampling, of all its processes
  std::function<void(uint32_t)> set_rate;
  std::function<std::string()> status;  // rate and cost, as a sentence
  // What was recorded so far is in the file then whose path is returned. Of a recording of several
  // files it is complete, and the next one begun.
  std::function<std::string()> flush;
  std::function<std::string()> sync;  // the same of the file that goes on
};

class ControlSocket {
 public:
  // Listens from now on, until it is destroyed. `token`: empty when none is asked for. Throws
  // Error.
  ControlSocket(EventLoop& loop, Controlled controlled, std::string token);
  ~ControlSocket();
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

 private:
  void accept_all();
  void answer(int connection);
  std::string reply_to(std::string_view request);
  std::string perform(std::string_view command, std::string_view argument);

  EventLoop& loop_;
  Controlled controlled_;
  std::string token_;
  FileDescriptor socket_;
  std::map<int, FileDescriptor> guests_;  // connected, silent so far
};

}  // namespace sampan::sampler
