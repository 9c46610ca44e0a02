#include "preload/image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <span>

#include "base/syscall.h"
#include "preload/process.h"

namespace sampan::preload {
namespace {

enum class Image { kUnknown, kDynamic, kStatic, kForeign };

// By the loader that it asks for.
bool is_musl(int fd, const Elf64_Phdr& segment) {
  char path[64] = {};
  const size_t size = segment.p_filesz < sizeof path ? segment.p_filesz : sizeof path - 1;
  raw_syscall(SYS_pread64, fd, path, size, segment.p_offset);
  return strstr(path, "musl") != nullptr;
}

// Of an ELF file. Anything else (a script, what cannot be read) is unknown.
Image read_image(int fd) {
  Elf64_Ehdr header;
  if (raw_syscall(SYS_pread64, fd, &header, sizeof header, 0) != sizeof header ||
      memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return Image::kUnknown;
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return Image::kForeign;
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return Image::kUnknown;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    const uint64_t at = header.e_phoff + i * sizeof segment;
    if (raw_syscall(SYS_pread64, fd, &segment, sizeof segment, at) != sizeof segment) {
      return Image::kUnknown;
    }
    if (segment.p_type == PT_INTERP)
      return is_musl(fd, segment) ? Image::kForeign : Image::kDynamic;
  }
  return Image::kStatic;
}

bool look_at_file(const char* path) {
  const long fd = raw_syscall(SYS_open, path, O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (fd < 0) return true;
  const Image image = read_image(static_cast<int>(fd));
  if (fstat(static_cast<int>(fd), &status) == 0) {
    const auto user = static_cast<uid_t>(raw_syscall(SYS_geteuid));
    if ((status.st_mode & S_ISUID) != 0 && status.st_uid != user) {
      count_loss(wire::Loss::kProcessSetuid);
    } else if (image == Image::kStatic || image == Image::kForeign) {
      count_loss(wire::Loss::kProcessStatic);
    }
  }
  raw_syscall(SYS_close, fd);
  return image != Image::kForeign;
}

// The file that `execvp` would find.
bool find_in_path(const char* file, std::span<char> found) {
  const char* list = getenv("PATH");
  if (list == nullptr) list = "/bin:/usr/bin";
  const size_t file_size = strlen(file) + 1;
  for (;;) {
    const size_t length = strcspn(list, ":");
    if (length + 1 + file_size <= found.size()) {
      memcpy(found.data(), list, length);
      found[length] = '/';
      memcpy(found.data() + length + 1, file, file_size);
      const char* candidate = length == 0 ? file : found.data();
      if (raw_syscall(SYS_access, candidate, X_OK) == 0) return true;
    }
    if (list[length] == '\0') return false;
    list += length + 1;
  }
}

}  // namespace

bool look_at_image(const char* file, bool search) {
  if (file == nullptr) return true;
  if (!search || strchr(file, '/') != nullptr) return look_at_file(file);
  char found[PATH_MAX];
  return !find_in_path(file, found) || look_at_file(found);
}

}  // namespace sampan::preload
