#include "attach/module_file.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cstring>

namespace sampan::attach {
namespace {

using File = std::shared_ptr<sampler::FileDescriptor>;

// The ELF header, program headers and mostly the build-id are there.
constexpr size_t kStartSize = 4096;

// What the process has mapped of the file.
std::vector<MappedPart> parts_of(const MappedRange& range, const std::vector<MappedRange>& map) {
  std::vector<MappedPart> parts;
  for (const MappedRange& other : map) {
    if (other.device == range.device && other.inode == range.inode && other.path == range.path) {
      parts.push_back({other.offset, other.end - other.start, other.start});
    }
  }
  return parts;
}

// Some file systems (overlayfs, btrfs) give stat another device than maps, so what the file begins
// with must do.
bool is_same(const File& file, const MappedRange& range, const ModuleBytes& memory) {
  struct stat status {};
  if (fstat(file->get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  if (status.st_dev == range.device && status.st_ino == range.inode) return true;
  uint8_t on_disk[kStartSize];
  uint8_t in_memory[kStartSize];
  const size_t size = bytes_of_file(file)(0, on_disk);
  return size >= sizeof(Elf64_Ehdr) && memory(0, {in_memory, size}) == size &&
         std::memcmp(on_disk, in_memory, size) == 0;
}

File open_file(const std::string& path) {
  // A FIFO that has taken the name of a library must not make us wait.
  return std::make_shared<sampler::FileDescriptor>(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

}  // namespace

ModuleFile open_module(pid_t pid, const MappedRange& range, const std::vector<MappedRange>& map) {
  ModuleBytes memory = bytes_of_process(pid, parts_of(range, map));
  if (range.inode == 0) return {std::move(memory), nullptr};
  const std::string process = fmt::format("/proc/{}/", pid);
  const std::string mapping = fmt::format("map_files/{:x}-{:x}", range.start, range.end);
  if (const File file = open_file(process + mapping); *file) return {bytes_of_file(file), file};
  for (const std::string& path : {"root" + range.path, std::string("exe")}) {
    const File file = open_file(process + path);
    if (*file && is_same(file, range, memory)) return {bytes_of_file(file), file};
  }
  return {std::move(memory), nullptr};
}

std::string HiddenFile::open_as() const {
  return fmt::format("/proc/self/fd/{}", file->get());
}

bool is_at_path(const ModuleFile& file, const MappedRange& range) {
  struct stat ours {};
  struct stat named {};
  return file.file != nullptr && fstat(file.file->get(), &ours) == 0 &&
         stat(range.path.c_str(), &named) == 0 && ours.st_dev == named.st_dev &&
         ours.st_ino == named.st_ino;
}

}  // namespace sampan::attach
