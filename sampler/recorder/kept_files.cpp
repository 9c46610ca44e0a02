#include "sampler/recorder/kept_files.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

#include "sampler/process/memory_map.h"
#include "sampler/process/module_image.h"

namespace sampan::sampler {
namespace {

constexpr size_t kMostKept = 500;  // descriptors
constexpr size_t kMostSeen = 100'000;
constexpr std::string_view kOfTheSystem[] = {"/usr/", "/lib/", "/lib64/"};

// A file system that a program has mounted for itself cannot be unmounted while a file in it is open.
bool may_stay_open(int file) {
  struct statfs system {};
  return fstatfs(file, &system) == 0 && system.f_type != FUSE_SUPER_MAGIC;
}

// A build-id tells it from a file that has taken its path; else it is looked for by the mapping.
std::shared_ptr<FileDescriptor> open_loaded(pid_t pid, const ModuleLoadRecord& record) {
  if (!record.build_id.empty()) {
    // A FIFO that has taken the name of a library must not make us wait.
    auto file = std::make_shared<FileDescriptor>(
        open(record.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    const auto layout = *file ? read_elf_layout(bytes_of_file(file)) : std::nullopt;
    if (layout && layout->build_id == record.build_id) return file;
  }
  const std::vector<MappedRange> map = read_memory_map(pid);
  const auto range = std::ranges::find_if(map, [&](const MappedRange& other) {
    return other.start <= record.start_avma && record.start_avma < other.end;
  });
  return range != map.end() ? open_module(pid, *range, map).file : nullptr;
}

}  // namespace

bool KeptFiles::wants(const std::string& path, const std::vector<uint8_t>& build_id) {
  const bool stays = std::ranges::any_of(
      kOfTheSystem, [&](std::string_view folder) { return path.starts_with(folder); });
  if (stays || !path.starts_with('/') || seen_.size() >= kMostSeen) return false;
  return seen_.emplace(path, build_id).second;
}

void KeptFiles::keep(const HiddenFile& file) {
  if (file.file == nullptr || !may_stay_open(file.file->get())) return;
  if (files_.size() >= kMostKept) files_.pop_front();
  files_.push_back(file);
}

void KeptFiles::keep_loaded(pid_t pid, const ModuleLoadRecord& record) {
  if (wants(record.path, record.build_id)) {
    keep({record.path, record.build_id, open_loaded(pid, record)});
  }
}

std::vector<HiddenFile> KeptFiles::hidden() const {
  std::vector<HiddenFile> hidden;
  std::ranges::copy_if(files_, std::back_inserter(hidden),
                       [](const HiddenFile& file) { return !is_at_path(file.file, file.path); });
  return hidden;
}

}  // namespace sampan::sampler
