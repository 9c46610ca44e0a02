#include "sampler/recorder/other_roots.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <utility>

#include "base/other_root.h"
#include "sampler/process/module_image.h"
#include "sampler/process/remote_memory.h"

namespace sampan::sampler {
namespace {

constexpr size_t kMostOpen = 1000;  // descriptors
constexpr size_t kMostPlaces = 100'000;
constexpr size_t kPage = 4096;

// For a file without a build-id: its headers are those that the process has in its memory, and as much of it is loaded.
bool is_loaded(const ModuleBytes& bytes, const ElfLayout& layout, pid_t pid,
               const ModuleLoadRecord& record) {
  uint8_t in_file[kPage];
  uint8_t in_memory[kPage];
  return avma_of(layout.begin(), record.bias) == record.start_avma &&
         avma_of(layout.end(), record.bias) == record.end_avma && read_all(bytes, 0, in_file) &&
         read_process(pid, record.start_avma, in_memory, kPage) == kPage &&
         std::memcmp(in_file, in_memory, kPage) == 0;
}

// The file that the process has loaded; null: it is not there (any more), or another one is.
std::shared_ptr<FileDescriptor> open_loaded(pid_t pid, const ProcessRoot& root,
                                            const ModuleLoadRecord& record) {
  // A FIFO that has taken the name of a library must not make us wait.
  auto file = std::make_shared<FileDescriptor>(root.open(record.path, O_RDONLY | O_NONBLOCK));
  if (!*file) return nullptr;
  const ModuleBytes bytes = bytes_of_file(file);
  const std::optional<ElfLayout> layout = read_elf_layout(bytes);
  if (!layout) return nullptr;
  const bool is_it = record.build_id.empty() ? is_loaded(bytes, *layout, pid, record)
                                             : layout->build_id == record.build_id;
  return is_it ? file : nullptr;
}

}  // namespace

bool OtherRoots::place(pid_t pid, const ProcessRoot& root, ModuleLoadRecord* record) {
  if (!record->path.starts_with('/')) return true;  // the vdso
  const std::tuple key(root.id(), record->path, record->build_id);
  if (const auto known = places_.find(key); known != places_.end()) {
    record->path = known->second;
    return true;
  }
  const File file = open_loaded(pid, root, *record);
  place_file(pid, root, file, record);
  if (file == nullptr) return false;
  if (!record->build_id.empty() && places_.size() < kMostPlaces) places_.emplace(key, record->path);
  return true;
}

void OtherRoots::place_file(pid_t pid, const ProcessRoot& root, const File& file,
                            ModuleLoadRecord* record) {
  if (!root.place().empty()) {
    // Links in the other root lead elsewhere from here.
    const std::string real = file != nullptr ? path_of(file->get()) : "";
    record->path = !real.empty() && is_at_path(file, real) ? real : root.place() + record->path;
  } else if (file == nullptr && record->build_id.empty()) {
    // Nothing would tell it from the file that we have by this path.
    record->path = fmt::format("/proc/{}/root{}", pid, record->path);
  }
  if (file != nullptr && !is_at_path(file, record->path) && hidden_.size() < kMostOpen) {
    hidden_.push_back({record->path, record->build_id, file});
  }
}

}  // namespace sampan::sampler
