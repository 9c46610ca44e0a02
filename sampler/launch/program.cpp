#include "sampler/launch/program.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "base/file_descriptor.h"
#include "base/guest.h"
#include "base/processor.h"
#include "base/sanitizer_runtime.h"

namespace sampan::sampler {
namespace {

constexpr size_t kLongestFirstLine = 256;  // BINPRM_BUF_SIZE of the kernel
constexpr int kDeepestScript = 5;          // as the kernel

bool is_executable_file(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  while (true) {
    const size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return words;
    const size_t end = std::min(line.find_first_of(" \t", begin), line.size());
    words.emplace_back(line.substr(begin, end - begin));
    line.remove_prefix(end);
  }
}

// The words after "#!"; empty for a file that is no script.
std::vector<std::string> interpreter_line(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char bytes[kLongestFirstLine];
  const ssize_t size = file ? read(file.get(), bytes, sizeof bytes) : 0;
  const std::string_view text(bytes, size > 0 ? static_cast<size_t>(size) : 0);
  if (!text.starts_with("#!")) return {};
  return words_of(text.substr(2, std::min(text.find('\n'), text.size()) - 2));
}

constexpr size_t kMaxSegments = 4096;

// The path of the program's loader (PT_INTERP); "" for a static program.
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

// Whether the loader ignores LD_PRELOAD for safety (AT_SECURE): not if we have the same rights.
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
  return header.e_machine != kElfMachine;
}

bool is_musl(const std::string& loader) {
  return loader.find("musl") != std::string::npos;
}

bool shows_only(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  return only_shows(words.data());
}

Preloadability of_elf(int file, const std::string& path, const std::vector<std::string>& command) {
  const std::optional<Elf64_Ehdr> header = read_header(file);
  if (!header) return {};  // not an ELF file: the kernel or the shell knows what to do
  if (header->e_ident[EI_CLASS] != ELFCLASS64) {
    return {Preload::kOtherMachine,
            fmt::format("{} is a 32-bit program, and sampan walks 64-bit stacks only", path)};
  }
  if (is_other_machine(*header)) {
    return {Preload::kOtherMachine,
            fmt::format("{} is a program for another processor than {}", path, kProcessor)};
  }
  const std::string loader = loader_of(file, *header);
  if (loader.empty() && is_loader(path.c_str())) {
    if (!shows_only(command)) return {};
    return {Preload::kShows, fmt::format("{} runs no program with this option", path)};
  }
  if (loader.empty() && is_user_emulator(path.c_str())) {
    return {Preload::kEmulator, fmt::format("{} is statically linked, and what is preloaded would "
                                            "be in the program that it emulates",
                                            path)};
  }
  if (loader.empty()) {
    return {Preload::kStatic,
            fmt::format("{} is statically linked, so nothing can be preloaded into it", path)};
  }
  if (is_musl(loader)) {
    return {Preload::kMusl, fmt::format("{} is linked with musl, and the shim needs glibc", path)};
  }
  return {};
}

}  // namespace

std::string find_program(const std::string& word) {
  if (word.find('/') != std::string::npos) return is_executable_file(word) ? word : "";
  const char* path = std::getenv("PATH");
  std::string_view left = path != nullptr ? path : "/bin:/usr/bin";
  while (!word.empty()) {
    const size_t colon = left.find(':');
    const std::string_view directory = left.substr(0, colon);
    std::string file = (directory.empty() ? "." : std::string(directory)) + "/" + word;
    if (is_executable_file(file)) return file;
    if (colon == std::string_view::npos) break;
    left.remove_prefix(colon + 1);
  }
  return "";
}

std::string resolve_interpreter(const std::string& path, std::string& missing) {
  std::string program = path;
  for (int depth = 0; depth < kDeepestScript; ++depth) {
    const std::vector<std::string> words = interpreter_line(program);
    if (words.empty()) return program;
    program = find_program(words[0]);
    missing = words[0];
    // env looks up the interpreter; skip the options and assignments before its name.
    if (words[0].ends_with("/env")) {
      for (size_t i = 1; i < words.size(); ++i) {
        if (words[i].starts_with("-") || words[i].find('=') != std::string::npos) continue;
        program = find_program(words[i]);
        missing = words[i];
        break;
      }
    }
    if (program.empty()) return "";
  }
  return program;
}

std::string runtime_before_shim(const std::string& path) {
  std::string missing;
  const std::string program = resolve_interpreter(path, missing);
  const FileDescriptor file(open(program.c_str(), O_RDONLY | O_CLOEXEC));
  return file ? NeededLibraries(file.get()).runtime().c_str() : "";
}

Preloadability preloadability(const std::string& path, const std::vector<std::string>& command) {
  std::string missing;
  const std::string program = resolve_interpreter(path, missing);
  struct stat info {};
  if (program.empty() || stat(program.c_str(), &info) != 0) return {};
  const FileDescriptor file(open(program.c_str(), O_RDONLY | O_CLOEXEC));
  Preloadability elf = file ? of_elf(file.get(), program, command) : Preloadability();
  if (elf.kind != Preload::kOtherMachine && changes_rights(file.get(), info)) {
    return {Preload::kOtherRights,
            fmt::format("{} runs with other rights than yours (setuid, setgid or capabilities), so "
                        "the loader ignores the shim",
                        program)};
  }
  return elf;
}

}  // namespace sampan::sampler
