// Work that answers requests: now, or when some seconds have passed. A few threads do it, and who
// asks for the same gets the same answer: a thousand clients cost as much as one.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "http/server.h"

namespace sampan::serve {

class Jobs {
 public:
  using Clock = std::chrono::steady_clock;
  // What it throws becomes an answer of status 500.
  using Work = std::function<http::Response()>;

  // How much later than another one a request may come and still share its answer, and the seconds
  // that it is about.
  static constexpr std::chrono::milliseconds kShared{100};
  // Of different requests. Who comes when as many wait is refused.
  static constexpr size_t kMost = 256;

  explicit Jobs(unsigned threads);
  ~Jobs() { stop(); }
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  // `key` says what is asked for. `work` begins after `delay`.
  void add(const std::string& key, std::chrono::nanoseconds delay, Work work, http::Reply reply);
  // The same for nobody: what helps those who ask later.
  void add(const std::string& key, std::chrono::nanoseconds delay, Work work);
  // Waits for what is being done; refuses what is not, and what comes.
  void stop();

 private:
  struct Job {
    std::string key;
    Clock::time_point added;
    Clock::time_point due;
    Work work;
    std::vector<http::Reply> replies;
  };

  Job* same(const std::string& key, Clock::time_point now);
  Job* enter(const std::string& key, std::chrono::nanoseconds delay, Work work);
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::list<Job> jobs_;  // not begun, by when they are due
  std::vector<std::thread> threads_;
};

}  // namespace sampan::serve
