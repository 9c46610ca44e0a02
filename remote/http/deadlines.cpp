#include "remote/http/deadlines.h"

#include <sys/socket.h>

namespace sampan::http {
namespace {

using std::chrono::seconds;

constexpr seconds kAsking{20};
constexpr seconds kReading{30};
constexpr uint64_t kSlowestReader = 16'384;  // bytes per second, after those 30 s
constexpr seconds kBetweenLooks{1};

}  // namespace

Deadlines::Deadlines() : watcher_([this] { watch(); }) {}

Deadlines::~Deadlines() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  watcher_.join();
  for (Client* const client : clients_) delete client;
}

Deadlines::Client* Deadlines::connected(int socket) {
  auto* const client = new Client{socket, Clock::now() + kAsking};
  const std::lock_guard lock(mutex_);
  clients_.insert(client);
  return client;
}

void Deadlines::gone(Client* client) {
  const std::lock_guard lock(mutex_);
  clients_.erase(client);
  delete client;
}

void Deadlines::asks(Client* client) {
  set(client, Clock::now() + kAsking);
}

void Deadlines::waits(Client* client) {
  set(client, Clock::time_point::max());
}

void Deadlines::reads(Client* client, uint64_t size) {
  set(client, Clock::now() + kReading + seconds(size / kSlowestReader));
}

void Deadlines::set(Client* client, Clock::time_point until) {
  const std::lock_guard lock(mutex_);
  client->until = until;
}

void Deadlines::watch() {
  std::unique_lock lock(mutex_);
  while (!stop_.wait_for(lock, kBetweenLooks, [this] { return stopping_; })) {
    const Clock::time_point now = Clock::now();
    for (const Client* const client : clients_) {
      // The library notices this and closes the connection.
      if (client->until <= now) shutdown(client->socket, SHUT_RDWR);
    }
  }
}

}  // namespace sampan::http
