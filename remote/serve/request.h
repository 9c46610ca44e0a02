// What a request may ask, and the time that it is about: `seconds=N` from now on, `last=N` up to now,
// or everything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "remote/http/message.h"
#include "remote/serve/source.h"

namespace sampan::serve {

// With an empty token, anybody on this machine may ask, but only by a loopback name: a page of
// another site could reach us by a name that it resolves to a loopback address.
class Access {
 public:
  explicit Access(std::string token) : token_(std::move(token)) {}

  // Returns 401 for requests without the token, 403 for a Host that is not this machine's, 405 for
  // methods that change something; nothing if the request is allowed.
  std::optional<http::Response> refuse(const http::Request& request) const;

 private:
  bool knows_the_token(const http::Request& request) const;

  std::string token_;
};

// `host`: the value of a Host header, "localhost:8080", "127.0.0.1", "[::1]:80".
bool is_loopback_name(std::string_view host);

struct Window {
  SessionNs from_ns = 0;
  SessionNs to_ns = UINT64_MAX;
  uint64_t wait_ns = 0;  // until the window has passed
  // Identifies equal windows.
  std::string key = {};
};

// The default of an endpoint.
struct DefaultWindow {
  double seconds = 0;  // for processes; 0: do not wait
  double last = 0;     // for processes; 0: everything
};

inline constexpr double kMaxSeconds = 3600;

// Throws Error with a sentence for the client.
Window window_of(const http::Request& request, Source& source, const DefaultWindow& usual);

}  // namespace sampan::serve
