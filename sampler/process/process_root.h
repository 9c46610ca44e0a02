// The root directory of another process, where it is not ours: after chroot, and in a container. The process names other
// files than we do by the same paths.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "base/file_descriptor.h"

namespace sampan::sampler {

class ProcessRoot {
 public:
  // Null: it is ours. Nothing: the process is gone, or we may not look.
  using Seen = std::optional<std::shared_ptr<const ProcessRoot>>;
  static Seen of(pid_t pid);

  // Equal for processes with the same root.
  using Id = std::tuple<uint64_t, uint64_t, uint64_t>;
  const Id& id() const { return id_; }
  // Where it is in our file system; "" in another mount namespace, in which we have no path for it.
  const std::string& place() const { return place_; }
  // Also when the process is gone. `flags`: of open(2).
  FileDescriptor open(const std::string& path, int flags) const;

 private:
  ProcessRoot(const Id& id, FileDescriptor directory, std::string place)
      : id_(id), directory_(std::move(directory)), place_(std::move(place)) {}

  Id id_;  // of the mount namespace, the device, the inode
  FileDescriptor directory_;
  std::string place_;
};

// For a process in another mount namespace, the directory below which its files can be found while it lives; "" for others.
std::string root_in_other_mounts(pid_t pid);

}  // namespace sampan::sampler
