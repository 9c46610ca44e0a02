#include "remote/live/live_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/error.h"

namespace sampan::live {
namespace {

constexpr const char* kPrefix = "sampan-live-";
constexpr int kMostAttempts = 100;

std::string parent() {
  const char* const chosen = std::getenv("TMPDIR");
  return chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
}

// The lock of a directory of ours; none if somebody has it, or the directory is another user's or gone.
FileDescriptor lock(const std::string& path) {
  FileDescriptor directory(
      open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!directory || fstat(directory.get(), &status) != 0 || status.st_uid != geteuid() ||
      flock(directory.get(), LOCK_EX | LOCK_NB) != 0) {
    return {};
  }
  // Whoever had the lock before may have removed it.
  if (fstat(directory.get(), &status) != 0 || status.st_nlink == 0) return {};
  return directory;
}

void remove(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

void remove_abandoned(const std::string& where) {
  std::error_code unreadable;
  for (std::filesystem::directory_iterator entry(where, unreadable), end;
       !unreadable && entry != end; entry.increment(unreadable)) {
    const std::string path = entry->path();
    if (!entry->path().filename().string().starts_with(kPrefix)) continue;
    if (const FileDescriptor locked = lock(path)) remove(path);
  }
}

}  // namespace

LiveDirectory::LiveDirectory() {
  const std::string where = parent();
  remove_abandoned(where);
  // Before it is locked, another sampan may take the new directory for an abandoned one.
  for (int attempt = 0; !lock_; ++attempt) {
    path_ = where + "/" + kPrefix + "XXXXXX";
    if (mkdtemp(path_.data()) == nullptr || attempt > kMostAttempts) {
      throw Error("creating {}: {}", path_, std::strerror(errno));
    }
    lock_ = lock(path_);
  }
}

LiveDirectory::~LiveDirectory() {
  remove(path_);
}

}  // namespace sampan::live
