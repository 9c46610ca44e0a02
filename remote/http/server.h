// An HTTP server with libmicrohttpd: one thread for all connections. A request is answered at once
// or later, from any thread; while it waits it costs a descriptor and some memory, but no thread.
//
// Slow, huge, endless and malformed requests cost only their own connection. A request may have 16
// KB of head, kMaxBody of body and 20 s; an answer may take 30 s plus a second for each 16 KB.
// There are at most kMaxConnections, half of them from one address; fewer if descriptors are
// scarce.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "remote/http/listener.h"
#include "remote/http/message.h"

namespace sampan::http {

inline constexpr size_t kMaxBody = size_t{4} << 20;
inline constexpr unsigned kMaxConnections = 4096;

struct Exchange;

// The promise of an answer. Destroying it without send() answers 503.
class Reply {
 public:
  explicit Reply(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  ~Reply();
  Reply(Reply&&) = default;
  Reply& operator=(Reply&&) = delete;

  void send(Response response);  // at most once

 private:
  std::shared_ptr<Exchange> exchange_;  // null after send()
};

// PEM text; empty: no TLS.
struct Certificate {
  std::string certificate;
  std::string key;
};

// Called with the head of each request, before the body is read. If it returns a response, that is
// the answer.
using Guard = std::function<std::optional<Response>(const Request&)>;
using Handler = std::function<void(Request, Reply)>;

class Server {
 public:
  // Throws Error. Its threads inherit the caller's signal mask. All Replies must be destroyed
  // before the server.
  Server(const Listener& listener, const Certificate& certificate, Guard guard, Handler handler);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A guard for read-only servers: 405 for anything but GET and HEAD.
std::optional<Response> refuse_writing(const Request& request);

}  // namespace sampan::http
