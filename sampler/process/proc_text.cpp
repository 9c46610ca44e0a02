#include "sampler/process/proc_text.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <charconv>

#include "base/file_descriptor.h"

namespace sampan::sampler {
namespace {

constexpr std::string_view kBlanks = " \t\n";
constexpr std::string_view kDeleted = " (deleted)";

}  // namespace

std::optional<std::string_view> read_start(const char* path, std::span<char> buffer) {
  const FileDescriptor file(open(path, O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  const ssize_t size = ::read(file.get(), buffer.data(), buffer.size());
  if (size < 0) return std::nullopt;
  return std::string_view(buffer.data(), static_cast<size_t>(size));
}

std::optional<std::string> read_whole(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::string text;
  size_t used = 0;
  while (true) {
    text.resize(used + 16384);
    const ssize_t size = ::read(file.get(), text.data() + used, text.size() - used);
    if (size < 0) return std::nullopt;
    used += static_cast<size_t>(size);
    if (size == 0) break;
  }
  text.resize(used);
  return text;
}

std::optional<std::string> read_link(const std::string& path) {
  char buffer[PATH_MAX];
  const ssize_t size = readlink(path.c_str(), buffer, sizeof buffer);
  if (size < 0) return std::nullopt;
  return std::string(without_deleted({buffer, static_cast<size_t>(size)}));
}

std::string_view line_after(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.starts_with(key)) {
      line.remove_prefix(key.size());
      line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
      return line;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(kBlanks));
  text.remove_prefix(word.size());
  return word;
}

uint64_t take_number(std::string_view& text, int base) {
  std::string_view word = take_word(text);
  if (word.starts_with("0x")) {
    word.remove_prefix(2);
    base = 16;
  }
  uint64_t number = 0;
  std::from_chars(word.data(), word.data() + word.size(), number, base);
  return number;
}

std::string_view without_deleted(std::string_view path) {
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  return path;
}

}  // namespace sampan::sampler
