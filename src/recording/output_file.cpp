#include "recording/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace sampan::recording {

OutputFile::OutputFile(const std::string& path)
    : path_(path),
      fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644)) {
  if (fd_ < 0) throw Error("creating {}: {}", path, std::strerror(errno));
}

OutputFile::OutputFile(const std::string& path, Existing)
    : path_(path), fd_(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC)) {
  if (fd_ < 0) throw Error("opening {}: {}", path, std::strerror(errno));
  size_ = ::lseek(fd_, 0, SEEK_END);
}

void OutputFile::append(const std::string& bytes) {
  if (fd_ < 0) return;
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::write(fd_, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const int error = count < 0 ? errno : ENOSPC;
      // A torn block would be cut by every reader; without it the recording is whole.
      if (::ftruncate(fd_, size_) != 0) { /* then they do cut it */
      }
      close();
      throw Error("writing {}: {}", path_, std::strerror(error));
    }
    done += static_cast<size_t>(count);
  }
  size_ += static_cast<int64_t>(bytes.size());
}

void OutputFile::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

}  // namespace sampan::recording
