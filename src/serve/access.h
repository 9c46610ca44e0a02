// Who may ask, and for what.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"

namespace sampan::serve {

// "" : anybody of this machine, who says so: a page of another site cannot get here by a name that
// it had resolved to a loopback address.
class Access {
 public:
  explicit Access(std::string token) : token_(std::move(token)) {}

  // 401 for every path without the token, 403 for a name that is not this machine's, 405 for
  // methods that change something; nothing where all is well.
  std::optional<http::Response> refuse(const http::Request& request) const;

 private:
  bool knows_the_token(const http::Request& request) const;

  std::string token_;
};

// The value of a Host header: "localhost:8080", "127.0.0.1", "[::1]:80".
bool is_loopback_name(std::string_view host);

}  // namespace sampan::serve
