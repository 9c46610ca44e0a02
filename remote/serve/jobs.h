// Work that answers requests, at once or after some seconds. A few threads do it, and equal
// requests share an answer: a thousand clients cost as much as one.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "remote/http/server.h"

namespace sampan::serve {

class Jobs {
 public:
  using Clock = std::chrono::steady_clock;
  // An exception becomes an answer with status 500.
  using Work = std::function<http::Response()>;

  // A request shares the answer, and the time window, of an equal one that came at most this much
  // earlier.
  static constexpr std::chrono::milliseconds kShared{100};
  // The number of waiting jobs; further requests are refused.
  static constexpr size_t kMaxWaiting = 256;

  explicit Jobs(unsigned threads);
  ~Jobs() { stop(); }
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  // Equal keys mean equal requests. `work` begins after `delay`.
  void add(const std::string& key, std::chrono::nanoseconds delay, Work work, http::Reply reply);
  // The same without a client, to prepare later answers.
  void add(const std::string& key, std::chrono::nanoseconds delay, Work work);
  // Waits for running work; refuses waiting and new requests.
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
  std::list<Job> jobs_;  // not yet begun, by due time
  std::vector<std::thread> threads_;
};

}  // namespace sampan::serve
