// One page over HTTP, for the browser of the same machine and of who knows its address.
//
// Listens on 127.0.0.1 only. The address has a token of 128 random bits, so other users of the
// machine, and pages of other sites, cannot ask for the page. One request per connection and one
// connection at a time; a request has 8 KB and 5 s, an answer as long as it moves within 5 s.
#pragma once

#include <cstdint>
#include <string>

#include "sampler/file_descriptor.h"

namespace sampan::cli {

class PageServer {
 public:
  // `port` 0: any that is free. Throws Error.
  PageServer(std::string page, uint16_t port);

  std::string url() const;
  // Until `stop_fd` is readable.
  void run(int stop_fd);

 private:
  void answer(int client, int stop_fd) const;

  std::string page_;
  std::string token_;
  uint16_t port_ = 0;
  sampler::FileDescriptor listener_;
};

}  // namespace sampan::cli
