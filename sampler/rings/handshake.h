// The recorder's side of wire/session.h: an abstract SOCK_SEQPACKET socket that the processes of
// the target connect to, and the memory that each gets. The kernel says which process connects.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/file_descriptor.h"
#include "wire/session.h"

namespace sampan::sampler {

// The memory that the recorder shares with one process (wire/control_block.h): sealed so that
// neither side can change its size, and mapped by both. Smaller than asked where the limit on file sizes
// leaves less; throws Error where it leaves nothing.
class SharedMemory {
 public:
  explicit SharedMemory(uint32_t slots);  // throws Error when the kernel refuses
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;
  ~SharedMemory();

  void* base() const { return base_; }
  const wire::MemoryShape& shape() const { return shape_; }
  int fd() const { return fd_.get(); }
  // Once the other side has the descriptor, too. The mapping stays.
  void close_fd() { fd_.reset(); }

 private:
  FileDescriptor fd_;
  wire::MemoryShape shape_;
  void* base_ = nullptr;
};

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
  // The next process that has connected; absent when there is none, or when it was turned away
  // because it belongs to another user (and neither process is root's). `errno` is EMFILE or
  // ENFILE when descriptors have run out.
  std::optional<Peer> accept();

 private:
  FileDescriptor socket_;
};

// The peer's Hello; absent when it has not come, is of another version, or the peer is gone.
std::optional<wire::Hello> receive_hello(const Peer& peer);
// Answers the Hello, with `memory_fd` unless that is -1. False when the peer is gone.
bool send_welcome(const Peer& peer, const wire::Welcome& welcome, int memory_fd);

}  // namespace sampan::sampler
