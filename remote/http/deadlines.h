// Which clients take too long: to say what they want, or to read what they get. A library closes
// connections that stand still; this closes those that move a byte now and then.
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

  // What a client does now decides how long it may take. All thread-safe.
  Client* connected(int socket);
  void asks(Client* client);   // from now on, for its next request
  void waits(Client* client);  // for us: without end
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
