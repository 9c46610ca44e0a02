// An HTTP server: one thread for all connections, by libmicrohttpd. A request is answered at once
// or later, from any thread; while it waits it costs a descriptor and some memory, no thread.
//
// Slow, huge, endless and malformed requests cost their own connection: a request has 16 KB of
// head, kMaxBody of body and 20 s, an answer 30 s and a second for each 16 KB of it. There are at
// most kMaxConnections, half of them of one address; fewer where descriptors are scarce.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "http/listener.h"
#include "http/message.h"

namespace sampan::http {

inline constexpr size_t kMaxBody = size_t{4} << 20;
inline constexpr unsigned kMaxConnections = 4096;

struct Exchange;

// The answer that somebody waits for. Who is done with it without an answer has refused: 503.
class Reply {
 public:
  explicit Reply(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  ~Reply();
  Reply(Reply&&) = default;
  Reply& operator=(Reply&&) = delete;

  void send(Response response);  // once

 private:
  std::shared_ptr<Exchange> exchange_;  // null: answered
};

// PEM texts; empty: no TLS.
struct Certificate {
  std::string certificate;
  std::string key;
};

// Called with the head of each request, before anything else is read or done. What it returns is
// the answer.
using Guard = std::function<std::optional<Response>(const Request&)>;
using Handler = std::function<void(Request, Reply)>;

class Server {
 public:
  // Throws Error. Its threads have the signal mask of the caller. Replies must all be gone before
  // the server is.
  Server(const Listener& listener, const Certificate& certificate, Guard guard, Handler handler);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Of the guards of those who only show: 405 for what is neither GET nor HEAD.
std::optional<Response> refuse_writing(const Request& request);

}  // namespace sampan::http
