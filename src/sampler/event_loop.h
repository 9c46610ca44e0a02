// Waits for descriptors to become readable, in one thread.
#pragma once

#include <functional>
#include <unordered_map>

#include "sampler/file_descriptor.h"

namespace sampan::sampler {

class EventLoop {
 public:
  EventLoop();  // throws Error when the kernel gives no epoll

  // Calls `on_readable` whenever `fd` is readable, until `forget`; it must read what is there, and
  // bear that nothing is. Watching and forgetting inside such a call is fine.
  void watch(int fd, std::function<void()> on_readable);
  void forget(int fd);

  // Waits at most `timeout_ms` (-1: for ever) and makes the calls that are due.
  void wait(int timeout_ms);

 private:
  FileDescriptor epoll_;
  std::unordered_map<int, std::function<void()>> handlers_;
};

}  // namespace sampan::sampler
