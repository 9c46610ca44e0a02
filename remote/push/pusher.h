// Pushes recordings in the background: a thread with low priority sends what is in the spool.
// Adding a recording does not block.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "remote/push/labels.h"
#include "remote/push/sender.h"
#include "remote/push/spool.h"

namespace sampan::push {

struct PushOptions {
  SendOptions send;
  Labels labels;
  std::string spool;  // each destination has a subdirectory
};

struct Summary {
  Counts counts;
  Spool::Sum left;  // in the spool, including pieces of other processes
};

class Pusher {
 public:
  // Throws Error if the spool or libcurl cannot be used. The thread is started by the first add(), or by
  // finish(), so that a process that forks before has one thread.
  explicit Pusher(PushOptions options);
  ~Pusher();  // stops at once; unsent pieces stay in the spool
  Pusher(const Pusher&) = delete;
  Pusher& operator=(const Pusher&) = delete;

  // Adds a complete recording. The file may be deleted afterwards, unless the spool is on another
  // file system: then it is copied soon. Errors are reported through `say`. `substitutes`: where
  // modules of this and of earlier recordings can be opened, until finish() returns.
  void add(const std::string& recording, std::vector<symbolizer::Substitute> substitutes = {});
  // Queues again what was refused before. Throws Error.
  void restore() { spool_.restore(); }
  // Continues until everything is sent or the timeout has passed. Call once, at the end.
  Summary finish(std::chrono::nanoseconds timeout);

  const std::string& directory() const { return spool_.directory(); }

 private:
  void start();
  void work();
  void take_added();
  bool stopped();

  PushOptions options_;
  Spool spool_;
  Sender sender_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> pending_;  // recordings to copy
  std::vector<symbolizer::Substitute> substitutes_;
  bool woken_ = false;  // since the last step
  bool finishing_ = false;
  Clock::time_point deadline_ = Clock::time_point::max();
  std::string problem_;  // the last reported error
  std::thread thread_;
};

}  // namespace sampan::push
