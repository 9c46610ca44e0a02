// An address and port that connections come to.
#pragma once

#include <cstdint>
#include <string>

#include "sampler/file_descriptor.h"

namespace sampan::http {

class Listener {
 public:
  // `address`: numbers, IPv4 or IPv6; `port` 0: any that is free. From now on connections wait to
  // be accepted. Throws Error.
  Listener(const std::string& address, uint16_t port);

  int fd() const { return socket_.get(); }
  // Only who is on this machine reaches it.
  bool is_loopback() const { return is_loopback_; }
  // "127.0.0.1:8080", "[::1]:8080".
  const std::string& authority() const { return authority_; }

 private:
  sampler::FileDescriptor socket_;
  std::string authority_;
  bool is_loopback_ = false;
};

}  // namespace sampan::http
