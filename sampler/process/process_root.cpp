#include "sampler/process/process_root.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <utility>

#include "base/other_root.h"
#include "sampler/process/proc_task.h"

namespace sampan::sampler {
namespace {

// `process`: its directory in /proc.
std::optional<ProcessRoot::Id> id_of(const std::string& process) {
  struct stat mounts {};
  struct stat root {};
  if (stat((process + "/ns/mnt").c_str(), &mounts) != 0 ||
      stat((process + "/root/").c_str(), &root) != 0) {
    return std::nullopt;
  }
  return ProcessRoot::Id(mounts.st_ino, root.st_dev, root.st_ino);
}

}  // namespace

ProcessRoot::Seen ProcessRoot::of(pid_t pid) {
  static const std::optional<Id> own = id_of("/proc/self");
  const std::string process = shared_entries(pid);
  const std::optional<Id> id = id_of(process);
  if (!id || !own) return std::nullopt;
  if (id == own) return std::shared_ptr<const ProcessRoot>();
  FileDescriptor directory(::open((process + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return std::nullopt;
  std::string place = std::get<0>(*id) == std::get<0>(*own) ? path_of(directory.get()) : "";
  return std::shared_ptr<const ProcessRoot>(
      new ProcessRoot(*id, std::move(directory), std::move(place)));
}

std::string root_in_other_mounts(pid_t pid) {
  const std::shared_ptr<const ProcessRoot> root = ProcessRoot::of(pid).value_or(nullptr);
  return root != nullptr && root->place().empty() ? shared_entries(pid) + "/root" : "";
}

FileDescriptor ProcessRoot::open(const std::string& path, int flags) const {
  return open_below(directory_.get(), path, flags);
}

}  // namespace sampan::sampler
