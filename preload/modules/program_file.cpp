#include "preload/modules/program_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/syscall.h"
#include "preload/support/interpose.h"

namespace sampan::preload {
namespace {

constexpr const char* kExecuted = "/proc/self/exe";

// "7f12…" up to a letter that is no digit.
const char* read_hexadecimal(const char* text, uint64_t& value) {
  for (value = 0;; ++text) {
    const char letter = *text;
    if (letter >= '0' && letter <= '9') {
      value = value * 16 + static_cast<uint64_t>(letter - '0');
    } else if (letter >= 'a' && letter <= 'f') {
      value = value * 16 + static_cast<uint64_t>(letter - 'a' + 10);
    } else {
      return text;
    }
  }
}

// The path in a line of /proc/self/maps, which ends with a zero byte, if the line is of a mapping with `address`; "": it has
// none, null: of another one.
const char* path_in(const char* line, uint64_t address) {
  uint64_t start = 0, end = 0;
  line = read_hexadecimal(line, start);
  if (*line == '-') read_hexadecimal(line + 1, end);
  if (address < start || address >= end) return nullptr;
  const char* const path = strchr(line, '/');
  return path != nullptr ? path : "";
}

// Calls `call` with the lines of a file until it returns true. A longer line than the buffer ends it.
template <typename F>
void for_each_line(const char* file, std::span<char> buffer, F&& call) {
  const long fd = raw_syscall(SYS_openat, AT_FDCWD, file, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  size_t size = 0;
  bool done = false;
  while (!done) {
    const long more = raw_syscall(SYS_read, fd, buffer.data() + size, buffer.size() - 1 - size);
    if (more <= 0) break;
    size += static_cast<size_t>(more);
    buffer[size] = '\0';
    char* line = buffer.data();
    for (char* end; !done && (end = strchr(line, '\n')) != nullptr; line = end + 1) {
      *end = '\0';
      done = call(line);
    }
    size -= static_cast<size_t>(line - buffer.data());
    memmove(buffer.data(), line, size);
  }
  raw_syscall(SYS_close, fd);
}

}  // namespace

std::span<const char> program_file(uint64_t start, std::span<char> buffer) {
  // Without an interpreter: the loader itself was executed, with the program as its argument.
  if (SAMPAN_NEXT(getauxval)(AT_BASE) == 0) {
    size_t length = 0;
    char lines[8192];
    for_each_line("/proc/self/maps", lines, [&](const char* line) {
      const char* const path = path_in(line, start);
      if (path == nullptr) return false;
      length = strnlen(path, buffer.size());
      memcpy(buffer.data(), path, length);
      return true;
    });
    if (length != 0) return buffer.first(length);
  }
  const long length =
      raw_syscall(SYS_readlinkat, AT_FDCWD, kExecuted, buffer.data(), buffer.size());
  return buffer.first(length > 0 ? static_cast<size_t>(length) : 0);
}

}  // namespace sampan::preload
