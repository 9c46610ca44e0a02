#include "cli/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/say.h"

namespace sampan::cli {

void keep_closed_streams_free() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    // The lowest free number, so this one. Not for what the stream is used for: that fails, as it does with a stream
    // that is closed.
    const int wrong_way = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    (void)!open("/dev/null", wrong_way | O_CLOEXEC);
  }
}

bool stdout_arrived() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return true;
  say("sampan: writing to standard output: {}\n", errno != 0 ? std::strerror(errno) : "failed");
  return false;
}

}  // namespace sampan::cli
