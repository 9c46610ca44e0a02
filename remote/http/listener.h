// A listening socket.
#pragma once

#include <cstdint>
#include <string>

#include "base/file_descriptor.h"

namespace sampan::http {

class Listener {
 public:
  // `address`: numeric, IPv4 or IPv6. `port` 0: any free port. Connections queue from now on.
  // Throws Error.
  Listener(const std::string& address, uint16_t port);

  int fd() const { return socket_.get(); }
  // Whether it can be reached from this machine only.
  bool is_loopback() const { return is_loopback_; }
  // "127.0.0.1:8080", "[::1]:8080".
  const std::string& authority() const { return authority_; }

 private:
  FileDescriptor socket_;
  std::string authority_;
  bool is_loopback_ = false;
};

}  // namespace sampan::http
