// Pushes recordings beside what else goes on: a thread of its own, with low priority, that sends
// what is in the spool. Whoever hands recordings over is never kept waiting for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "push/labels.h"
#include "push/sender.h"
#include "push/spool.h"

namespace sampan::push {

struct PushOptions {
  SendOptions send;
  Labels labels;
  std::string spool;  // a directory; each destination has one of its own in it
};

struct Summary {
  Counts counts;
  Spool::Sum left;  // in the spool, also of others
};

class Pusher {
 public:
  // Throws Error where the spool cannot be used. Nothing is sent before the first add(), or
  // finish(): a process that is forked meanwhile has but one thread.
  explicit Pusher(PushOptions options);
  ~Pusher();  // stops at once; what was not sent stays in the spool
  Pusher(const Pusher&) = delete;
  Pusher& operator=(const Pusher&) = delete;

  // A recording that is complete. It may go when this returns, unless the spool is on another file
  // system: then it is copied soon. What goes wrong is said. `substitutes`: where to open modules
  // of it and of those before, until finish() returns.
  void add(const std::string& recording, std::vector<symbolizer::Substitute> substitutes = {});
  // What was refused before is to be pushed again. Throws Error.
  void restore() { spool_.restore(); }
  // Goes on until all was sent, or so much time has passed; to be called once, at the end.
  Summary finish(std::chrono::nanoseconds patience);

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
  std::vector<std::string> pending_;  // recordings to be copied
  std::vector<symbolizer::Substitute> substitutes_;
  bool woken_ = false;  // since the last step
  bool finishing_ = false;
  Clock::time_point deadline_ = Clock::time_point::max();
  std::string problem_;  // that was said last
  std::thread thread_;
};

}  // namespace sampan::push
