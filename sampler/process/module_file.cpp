#include "sampler/process/module_file.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "sampler/process/proc_task.h"
#include "sampler/process/remote_memory.h"

namespace sampan::sampler {
namespace {

using File = std::shared_ptr<FileDescriptor>;

// Holds the ELF header, the program headers, and in most files the build-id.
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

// Some file systems (overlayfs, btrfs) report another device in stat than in maps, so the start of
// the file is compared instead.
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
  return std::make_shared<FileDescriptor>(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

ModuleFile whole(const File& file) {
  ModuleBytes bytes = bytes_of_file(file);
  return {std::move(bytes), file};
}

}  // namespace

ModuleBytes bytes_of_file(std::shared_ptr<FileDescriptor> file) {
  return [file = std::move(file)](uint64_t offset, std::span<uint8_t> buffer) {
    size_t done = 0;
    while (done < buffer.size()) {
      const ssize_t size = pread(file->get(), buffer.data() + done, buffer.size() - done,
                                 static_cast<off_t>(offset + done));
      if (size <= 0) break;
      done += static_cast<size_t>(size);
    }
    return done;
  };
}

ModuleBytes bytes_of_process(pid_t pid, std::vector<MappedPart> parts) {
  return [pid, parts = std::move(parts)](uint64_t offset, std::span<uint8_t> buffer) -> size_t {
    for (const MappedPart& part : parts) {
      if (offset - part.offset >= part.size) continue;
      const uint64_t skipped = offset - part.offset;
      const size_t size = std::min<uint64_t>(buffer.size(), part.size - skipped);
      return read_process(pid, part.start + skipped, buffer.data(), size);
    }
    return 0;
  };
}

ModuleFile open_module(pid_t pid, const MappedRange& range, const std::vector<MappedRange>& map) {
  ModuleBytes memory = bytes_of_process(pid, parts_of(range, map));
  if (range.inode == 0) return {std::move(memory), nullptr};
  const std::string process = shared_entries(pid) + "/";
  const std::string mapping =
      fmt::format("map_files/{:x}-{:x}", uint64_t{range.start}, uint64_t{range.end});
  if (const File file = open_file(process + mapping); *file) return whole(file);
  for (const std::string& path : {"root" + range.path, std::string("exe")}) {
    const File file = open_file(process + path);
    if (*file && is_same(file, range, memory)) return whole(file);
  }
  return {std::move(memory), nullptr};
}

std::string HiddenFile::open_as() const {
  return fmt::format("/proc/self/fd/{}", file->get());
}

bool is_at_path(const std::shared_ptr<FileDescriptor>& file, const std::string& path) {
  struct stat ours {};
  struct stat named {};
  return file != nullptr && fstat(file->get(), &ours) == 0 && stat(path.c_str(), &named) == 0 &&
         ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

void add_new(const std::vector<HiddenFile>& files, std::vector<HiddenFile>* all) {
  for (const HiddenFile& file : files) {
    const auto is_same = [&file](const HiddenFile& other) {
      return other.path == file.path && other.build_id == file.build_id;
    };
    if (std::ranges::none_of(*all, is_same)) all->push_back(file);
  }
}

}  // namespace sampan::sampler
