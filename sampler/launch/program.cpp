#include "sampler/preloadable.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "sampler/file_descriptor.h"
#include "sampler/program.h"

namespace sampan::sampler {
namespace {

constexpr size_t kMaxSegments = 4096;

// The path in PT_INTERP, the loader that the program asks for; "" for a static program.
std::string loader_of(int file, const Elf64_Ehdr& header) {
  const size_t count = std::min<size_t>(header.e_phnum, kMaxSegments);
  std::vector<Elf64_Phdr> segments(count);
  const auto bytes = static_cast<ssize_t>(count * sizeof(Elf64_Phdr));
  if (header.e_phentsize != sizeof(Elf64_Phdr) ||
      pread(file, segments.data(), static_cast<size_t>(bytes),
            static_cast<off_t>(header.e_phoff)) != bytes) {
    return "";
  }
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_INTERP) continue;
    char path[256] = {};
    const size_t size = std::min<size_t>(segment.p_filesz, sizeof path - 1);
    if (pread(file, path, size, static_cast<off_t>(segment.p_offset)) <= 0) return "";
    return path;
  }
  return "";
}

// Where the loader ignores LD_PRELOAD for safety (AT_SECURE), unless we have the rights anyway.
bool changes_rights(int file, const struct stat& info) {
  const bool other_user = (info.st_mode & S_ISUID) != 0 && info.st_uid != geteuid();
  const bool other_group = (info.st_mode & S_ISGID) != 0 && info.st_gid != getegid();
  const bool capabilities =
      geteuid() != 0 && fgetxattr(file, "security.capability", nullptr, 0) > 0;
  return other_user || other_group || capabilities;
}

std::optional<Elf64_Ehdr> read_header(int file) {
  Elf64_Ehdr header{};
  if (pread(file, &header, sizeof header, 0) < static_cast<ssize_t>(sizeof header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return std::nullopt;
  }
  return header;
}

bool is_other_machine(const Elf64_Ehdr& header) {
  return header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64;
}

bool is_musl(const std::string& loader) {
  return loader.find("musl") != std::string::npos;
}

Preloadability of_elf(int file, const std::string& path) {
  const std::optional<Elf64_Ehdr> header = read_header(file);
  if (!header) return {};  // no ELF file: the kernel, or the shell, knows what to do with it
  if (is_other_machine(*header)) {
    return {Preload::kOtherMachine, fmt::format("{} is not an x86-64 program", path)};
  }
  const std::string loader = loader_of(file, *header);
  const bool is_loader = path.find("/ld-linux") != std::string::npos;
  if (loader.empty() && !is_loader) {
    return {Preload::kStatic,
            fmt::format("{} is statically linked, so nothing can be preloaded into it", path)};
  }
  if (is_musl(loader)) {
    return {Preload::kMusl, fmt::format("{} is linked with musl, and the shim needs glibc", path)};
  }
  return {};
}

}  // namespace

Preloadability preloadability(const std::string& path) {
  std::string missing;
  const std::string program = resolve_interpreter(path, missing);
  struct stat info {};
  if (program.empty() || stat(program.c_str(), &info) != 0) return {};
  const FileDescriptor file(open(program.c_str(), O_RDONLY | O_CLOEXEC));
  const Preloadability elf = file ? of_elf(file.get(), program) : Preloadability();
  if (elf.kind != Preload::kOtherMachine && changes_rights(file.get(), info)) {
    return {Preload::kOtherRights,
            fmt::format("{} runs with other rights than yours (setuid, setgid or capabilities), so "
                        "the loader ignores the shim",
                        program)};
  }
  return elf;
}

}  // namespace sampan::sampler
