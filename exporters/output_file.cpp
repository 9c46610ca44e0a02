#include "exporters/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace sampan::exporters {
namespace {

constexpr size_t kBufferSize = 1 << 18;

std::atomic<bool> interrupted = false;

// Follows symbolic links, so that their target is replaced and not the link.
std::string resolve(const std::string& path) {
  char resolved[PATH_MAX];
  return ::realpath(path.c_str(), resolved) != nullptr ? resolved : path;
}

}  // namespace

void interrupt_writing() {
  interrupted = true;
}

OutputFile::OutputFile(const std::string& path) : path_(path) {
  buffer_.reserve(kBufferSize);
  struct stat status = {};
  if (path == "-") {
    path_ = "standard output";
    fd_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  } else if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    fd_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    path_ = resolve(path);
    temporary_ = path_ + "." + std::to_string(::getpid()) + ".tmp";
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  }
  if (fd_ < 0) {
    const int error = errno;
    temporary_.clear();
    fail(error);
  }
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::write(std::string_view bytes) {
  size_ += bytes.size();
  if (buffer_.size() + bytes.size() > kBufferSize) flush();
  if (bytes.size() >= kBufferSize) {
    buffer_ = bytes;
    flush();
  } else {
    buffer_ += bytes;
  }
}

void OutputFile::flush() {
  for (std::string_view rest = buffer_; !rest.empty();) {
    if (interrupted) fail(EINTR);
    const ssize_t written = ::write(fd_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail(errno);
    rest.remove_prefix(static_cast<size_t>(written));
  }
  buffer_.clear();
}

void OutputFile::commit() {
  flush();
  if (interrupted) fail(EINTR);
  const int fd = fd_;
  fd_ = -1;
  if (::close(fd) != 0) fail(errno);
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail(errno);
  temporary_.clear();
}

void OutputFile::fail(int error) const {
  if (error == EINTR) throw Error("writing {}: interrupted, nothing of it is left", path_);
  throw Error("writing {}: {}", path_, std::strerror(error));
}

namespace {

// Profiles compress well at any level, and the higher ones take several times as long.
constexpr int kGzipLevel = 3;
constexpr int kGzipWindow = MAX_WBITS + 16;  // the 16 asks zlib for a gzip header

}  // namespace

GzipWriter::GzipWriter(OutputFile& file) : file_(file), output_(1 << 16, '\0') {
  if (deflateInit2(&stream_, kGzipLevel, Z_DEFLATED, kGzipWindow, MAX_MEM_LEVEL,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    throw Error("zlib cannot be set up: out of memory");
  }
}

GzipWriter::~GzipWriter() {
  deflateEnd(&stream_);
}

void GzipWriter::deflate_all(std::string_view bytes, int flush) {
  int result = Z_OK;
  do {
    const size_t part = std::min<size_t>(bytes.size(), UINT_MAX);
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(part);
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(output_.data());
      stream_.avail_out = static_cast<uInt>(output_.size());
      result = deflate(&stream_, flush);
      file_.write(std::string_view(output_).substr(0, output_.size() - stream_.avail_out));
    } while (stream_.avail_out == 0);
    bytes.remove_prefix(part);
  } while (!bytes.empty() || (flush == Z_FINISH && result == Z_OK));
}

}  // namespace sampan::exporters
