// The collector's side of wire/session.h: an abstract SOCK_SEQPACKET socket that the processes of
// the target connect to. Who they are the kernel says, never they themselves.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "sampler/file_descriptor.h"
#include "wire/session.h"

namespace sampan::sampler {

struct Peer {
  FileDescriptor connection;  // non-blocking
  pid_t pid = 0;
};

class SessionSocket {
 public:
  // "sampan-" and 32 random hexadecimal digits.
  static std::string random_name();

  // Listens. Throws Error, e.g. when the name is taken.
  explicit SessionSocket(const std::string& name);

  int fd() const { return socket_.get(); }
  // The next process that has connected; absent when there is none, or when it belongs to another
  // user than this process or root (unless this is root) and was turned away. `errno` is EMFILE or
  // ENFILE when descriptors have run out.
  std::optional<Peer> accept();

 private:
  FileDescriptor socket_;
};

// What the peer said, when it has; absent as well when it is of another version or gone.
std::optional<wire::Hello> receive_hello(const Peer& peer);
// Answers; with `memory_fd` unless that is -1. False when the peer is gone.
bool send_welcome(const Peer& peer, const wire::Welcome& welcome, int memory_fd);

}  // namespace sampan::sampler
