#include "preload/interposers/image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <span>

#include "base/guest.h"
#include "base/processor.h"
#include "base/syscall.h"
#include "preload/process/environment.h"
#include "preload/process/process.h"
#include "preload/support/decimal.h"

namespace sampan::preload {
namespace {

enum class Image { kUnknown, kDynamic, kStatic, kForeign, kLoader };

// Whether the loader that the file asks for is musl's.
bool is_musl(int fd, const Elf64_Phdr& segment) {
  char path[64] = {};
  const size_t size = segment.p_filesz < sizeof path ? segment.p_filesz : sizeof path - 1;
  raw_syscall(SYS_pread64, fd, path, size, segment.p_offset);
  return strstr(path, "musl") != nullptr;
}

// kUnknown: not an ELF file (a script), or not readable.
Image read_image(int fd) {
  Elf64_Ehdr header;
  if (raw_syscall(SYS_pread64, fd, &header, sizeof header, 0) != sizeof header ||
      memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return Image::kUnknown;
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != kElfMachine) {
    return Image::kForeign;
  }
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

// A descriptor that can be read, or negative.
long open_image(const ImageFile& file) {
  if (file.path[0] != '\0' || (file.flags & AT_EMPTY_PATH) == 0 || file.directory < 0) {
    return raw_syscall(SYS_openat, file.directory, file.path, O_RDONLY | O_CLOEXEC);
  }
  // Opened again by its name in /proc, because a descriptor of O_PATH cannot be read.
  char name[32];
  write_decimal(stpcpy(name, "/proc/self/fd/"), file.directory);
  const long fd = raw_syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC);
  return fd >= 0 ? fd : raw_syscall(SYS_fcntl, file.directory, F_DUPFD_CLOEXEC, 0);
}

bool runs_no_program(const ImageFile& file, Image image) {
  return find_variable(file.environment, "LD_TRACE_LOADED_OBJECTS") != nullptr ||
         (image == Image::kLoader && only_shows(file.arguments));
}

// valgrind's launcher executes its tools so.
bool runs_another(const ImageFile& file, Image image) {
  return image == Image::kStatic &&
         (is_user_emulator(file.path) ||
          find_variable(file.environment, "VALGRIND_LAUNCHER") != nullptr);
}

Examined examine_file(const ImageFile& file) {
  const long fd = open_image(file);
  struct stat status {};
  if (fd < 0) return {};
  Image image = read_image(static_cast<int>(fd));
  if (image == Image::kStatic && is_loader(file.path)) image = Image::kLoader;
  if (raw_syscall(SYS_fstat, fd, &status) == 0) {
    const auto user = static_cast<uid_t>(raw_syscall(SYS_geteuid));
    if ((status.st_mode & S_ISUID) != 0 && status.st_uid != user) {
      count_loss(wire::Loss::kProcessSetuid);
      raw_syscall(SYS_close, fd);
      return {.takes_shim = image != Image::kForeign, .runs_shim = true, .runtime = {}};
    }
  }
  const bool takes_shim =
      image != Image::kForeign && !runs_no_program(file, image) && !runs_another(file, image);
  Examined examined{.takes_shim = takes_shim,
                    .runs_shim = image != Image::kForeign && image != Image::kStatic,
                    .runtime = {}};
  if (image == Image::kDynamic) examined.runtime = NeededLibraries(static_cast<int>(fd)).runtime();
  raw_syscall(SYS_close, fd);
  return examined;
}

// Finds the file that `execvp` would find.
bool find_in_path(const char* file, std::span<char> found) {
  const char* list = variable_of_process("PATH");
  if (list == nullptr) list = "/bin:/usr/bin";
  const size_t file_size = strlen(file) + 1;
  for (;;) {
    const size_t length = strcspn(list, ":");
    if (length + 1 + file_size <= found.size()) {
      memcpy(found.data(), list, length);
      found[length] = '/';
      memcpy(found.data() + length + 1, file, file_size);
      const char* candidate = length == 0 ? file : found.data();
      if (raw_syscall(SYS_faccessat, AT_FDCWD, candidate, X_OK) == 0) return true;
    }
    if (list[length] == '\0') return false;
    list += length + 1;
  }
}

}  // namespace

Examined examine_image(const ImageFile& file) {
  if (file.path == nullptr) return {};
  if (!file.search_in_path || strchr(file.path, '/') != nullptr) return examine_file(file);
  char found[PATH_MAX];
  if (!find_in_path(file.path, found)) return {};
  ImageFile in_path = file;
  in_path.path = found;
  return examine_file(in_path);
}

}  // namespace sampan::preload
