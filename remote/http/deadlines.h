// Disconnects clients that take too long to send a request or to read the answer. The library
// closes idle connections; this also closes those that move a byte now and then.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <unordered_set>

namespace sampan::http {

class Deadlines {
 public:
  using Clock = std::chrono::steady_clock;

  struct Client {
    int socket = -1;
    Clock::time_point until = Clock::time_point::max();
  };

  Deadlines();
  ~Deadlines();
  Deadlines(const Deadlines&) = delete;
  Deadlines& operator=(const Deadlines&) = delete;

  // The client's state determines its deadline. All are thread-safe.
  Client* connected(int socket);
  void asks(Client* client);   // the deadline for its next request starts
  void waits(Client* client);  // for our answer: no deadline
  void reads(Client* client, uint64_t size);
  void gone(Client* client);

 private:
  void set(Client* client, Clock::time_point until);
  void watch();

  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;
  std::unordered_set<Client*> clients_;
  std::thread watcher_;
};

}  // namespace sampan::http
