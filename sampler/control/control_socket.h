// How `sampan ctl` reaches a recorder (run, attach, collect): an abstract SOCK_SEQPACKET socket,
// "sampan-ctl-" and random digits, that /proc/net/unix lists. One message goes each way.
//
//   request  "COMMAND PID TOKEN". COMMAND is status, pause, resume, "rate HZ", "heap MEAN", "locks LIMIT", flush, or
//            sync: a flush that begins no other file. TOKEN may be empty.
//   answer   "done TEXT": TEXT of sync is the path of the file, that of others a sentence;
//            "other": the process is not one of ours; or "refused SENTENCE".
//
// Only our own user and root are served; the kernel says who asks. If the recorder has a token,
// that of the request must be the same.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/event_loop.h"
#include "base/file_descriptor.h"

namespace sampan::sampler {

// What a recorder does for `ctl`. Errors that are thrown go to the user who asked.
struct Controlled {
  std::function<bool(pid_t)> records;    // whether the process is one of the session
  std::function<void(bool)> set_paused;  // sampling, of all its processes
  std::function<void(uint32_t)> set_rate;
  // The mean number of bytes between two sampled allocations, and the shortest wait for a lock of which each is
  // recorded, in nanoseconds; 0: none.
  std::function<void(uint64_t)> set_heap_mean, set_lock_limit;
  std::function<std::string()> status;  // rate and cost, as a sentence
  // Writes what was recorded so far; returns the path of the file that has it. When the recording
  // is one of several files, that file is complete, and the next one begun.
  std::function<std::string()> flush;
  std::function<std::string()> sync;  // the same, without ending the file
};

class ControlSocket {
 public:
  // Listens from now on, until it is destroyed. No token is needed if `token` is empty. Throws Error.
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

// Asks the recorder of the process `pid`, or the recorder that is this process. Returns what it has
// done, as a sentence. Throws Error when there is no recorder, when it refuses, or when it does not
// answer in time (it may be busy).
std::string control(pid_t pid, std::string_view command, std::string_view token,
                    std::chrono::seconds timeout = std::chrono::seconds(10));

}  // namespace sampan::sampler
