#include "base/other_root.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>

namespace sampan {
namespace {

// As in the kernel's include/uapi/linux/openat2.h (Linux 5.6), which older headers lack.
constexpr long kOpenat2 = 437;
struct OpenHow {
  uint64_t flags, mode, resolve;
};
constexpr uint64_t kResolveInRoot = 0x10;

bool leads_to(const std::string& path, int descriptor) {
  struct stat there {};
  struct stat here {};
  return fstat(descriptor, &there) == 0 && stat(path.c_str(), &here) == 0 &&
         there.st_dev == here.st_dev && there.st_ino == here.st_ino;
}

}  // namespace

FileDescriptor open_below(int root, const std::string& path, int flags) {
  const OpenHow how{static_cast<uint64_t>(flags | O_CLOEXEC), 0, kResolveInRoot};
  const long fd = syscall(kOpenat2, root, path.c_str(), &how, sizeof how);
  if (fd >= 0) return FileDescriptor(static_cast<int>(fd));
  // An old kernel, or a filter that does not know the call (EPERM). Without it absolute links lead elsewhere, as do those
  // that climb: whoever opens files here checks which file it is.
  if (errno != ENOSYS && errno != EPERM) return FileDescriptor();
  const std::string relative = "." + (path.starts_with('/') ? path : "/" + path);
  return FileDescriptor(openat(root, relative.c_str(), flags | O_CLOEXEC));
}

std::string path_of(int descriptor) {
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  char path[PATH_MAX];
  const ssize_t size = readlink(link.c_str(), path, sizeof path);
  return size > 0 && path[0] == '/' ? std::string(path, static_cast<size_t>(size)) : "";
}

std::string path_below(const std::string& root, const std::string& path) {
  const FileDescriptor directory(open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return "";
  const FileDescriptor file = open_below(directory.get(), path, O_PATH);
  if (!file) return "";
  // In another mount namespace (/proc/PID/root) the kernel's path is one of there.
  for (const std::string& candidate : {path_of(file.get()), root + path}) {
    if (leads_to(candidate, file.get())) return candidate;
  }
  return "";
}

}  // namespace sampan
