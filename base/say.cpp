#include "base/say.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

namespace sampan {
namespace {

constexpr int kPatienceMs = 1000;  // with a reader that has made the pipe non-blocking

// Blocks the signals that a failing write() sends to this thread, and takes them.
class WithoutWriteSignals {
 public:
  WithoutWriteSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGPIPE);
    sigaddset(&signals_, SIGXFSZ);
    sigset_t pending;
    sigpending(&pending);
    for (const int signal : {SIGPIPE, SIGXFSZ}) {
      if (sigismember(&pending, signal) != 0) sigdelset(&signals_, signal);  // somebody else's
    }
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  ~WithoutWriteSignals() {
    constexpr timespec kNow{};
    while (sigtimedwait(&signals_, nullptr, &kNow) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutWriteSignals(const WithoutWriteSignals&) = delete;
  WithoutWriteSignals& operator=(const WithoutWriteSignals&) = delete;

 private:
  sigset_t signals_, before_;
};

bool becomes_writable() {
  pollfd waited{STDERR_FILENO, POLLOUT, 0};
  return poll(&waited, 1, kPatienceMs) == 1;
}

}  // namespace

void say_text(std::string_view text) noexcept {
  const int saved_errno = errno;
  const WithoutWriteSignals quiet;
  while (!text.empty()) {
    const ssize_t size = write(STDERR_FILENO, text.data(), text.size());
    if (size > 0) {
      text.remove_prefix(static_cast<size_t>(size));
      continue;
    }
    const bool again = size < 0 && (errno == EINTR || (errno == EAGAIN && becomes_writable()));
    if (!again) break;
  }
  errno = saved_errno;
}

}  // namespace sampan
