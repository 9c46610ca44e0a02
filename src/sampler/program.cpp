#include "sampler/program.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <vector>

#include "sampler/file_descriptor.h"

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

// The words behind "#!"; empty for anything that is no script.
std::vector<std::string> interpreter_line(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char bytes[kLongestFirstLine];
  const ssize_t size = file ? read(file.get(), bytes, sizeof bytes) : 0;
  const std::string_view text(bytes, size > 0 ? static_cast<size_t>(size) : 0);
  if (!text.starts_with("#!")) return {};
  return words_of(text.substr(2, std::min(text.find('\n'), text.size()) - 2));
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
    // env looks the real interpreter up; options and assignments before it are skipped.
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

std::string executable_of(pid_t pid) {
  constexpr std::string_view kDeleted = " (deleted)";
  char path[4096];
  const ssize_t size = readlink(fmt::format("/proc/{}/exe", pid).c_str(), path, sizeof path);
  if (size <= 0) return fmt::format("pid {}", pid);
  std::string_view program(path, static_cast<size_t>(size));
  if (program.ends_with(kDeleted)) program.remove_suffix(kDeleted.size());
  return std::string(program);
}

}  // namespace sampan::sampler
