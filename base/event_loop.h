// Waits for descriptors to become readable, in one thread. Hosted only.
#pragma once

#include <sys/epoll.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <unordered_map>

#include "base/error.h"
#include "base/file_descriptor.h"

namespace sampan {

class EventLoop {
 public:
  EventLoop();  // throws Error when the kernel gives no epoll

  // Calls `on_readable` whenever `fd` is readable, until `forget`. The call must read what is
  // there; there may be nothing. It may call watch() and forget().
  void watch(int fd, std::function<void()> on_readable);
  void forget(int fd);

  // Waits at most `timeout_ms` (-1: for ever), then makes the calls that are due.
  void wait(int timeout_ms);

 private:
  FileDescriptor epoll_;
  std::unordered_map<int, std::function<void()>> handlers_;
};

inline EventLoop::EventLoop() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) throw Error("waiting for the program: epoll_create1: {}", std::strerror(errno));
}

inline void EventLoop::watch(int fd, std::function<void()> on_readable) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    throw Error("waiting for the program: epoll_ctl: {}", std::strerror(errno));
  }
  handlers_[fd] = std::move(on_readable);
}

inline void EventLoop::forget(int fd) {
  if (handlers_.erase(fd) != 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

inline void EventLoop::wait(int timeout_ms) {
  epoll_event events[64];
  const int count = epoll_wait(epoll_.get(), events, 64, timeout_ms);
  for (int i = 0; i < count; ++i) {
    const auto found = handlers_.find(events[i].data.fd);
    if (found == handlers_.end()) continue;  // forgotten by an earlier call of this round
    const std::function<void()> handler = found->second;  // the call may forget itself
    handler();
  }
}

}  // namespace sampan
