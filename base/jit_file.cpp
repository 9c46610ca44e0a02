#include "base/jit_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/units.h"

namespace sampan {
namespace {

constexpr size_t kChunk = 1 << 20;

// Returns false if the line is invalid.
bool parse(std::string_view text, JitCode* code) {
  const auto number = [&text](uint64_t* value) {
    if (text.starts_with("0x")) text.remove_prefix(2);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value, 16);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (error != std::errc() || !text.starts_with(' ')) return false;
    text.remove_prefix(1);
    return true;
  };
  uint64_t size = 0;
  if (!number(&code->begin) || !number(&size) || code->begin + size < code->begin) return false;
  code->end = code->begin + size;
  code->name = text;
  return !text.empty();
}

}  // namespace

JitFile open_jit_file(const std::string& path, UnixNs begun_unix_ns) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  struct stat status {};
  if (fd < 0) return nullptr;
  const bool is_trusted = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                          (status.st_uid == geteuid() || geteuid() == 0) &&
                          static_cast<uint64_t>(status.st_mtime) >= begun_unix_ns / kNsPerSecond;
  if (!is_trusted) {
    close(fd);
    return nullptr;
  }
  return JitFile(fdopen(fd, "r"));
}

std::optional<UnixNs> begun_unix_ns(int pid) {
  const JitFile stat(fopen(fmt::format("/proc/{}/stat", pid).c_str(), "re"));
  char text[1024] = {};
  if (stat == nullptr || fread(text, 1, sizeof text - 1, stat.get()) == 0) return std::nullopt;
  const std::string_view all = text;
  std::string_view rest = all.substr(std::min(all.rfind(')') + 1, all.size()));
  // Field 22; the text here begins before field 3 (proc_pid_stat(5)).
  for (int field = 3; field < 22; ++field) {
    rest.remove_prefix(std::min(rest.find(' ', 1), rest.size()));
  }
  const uint64_t ticks = strtoull(std::string(rest).c_str(), nullptr, 10);
  const uint64_t boot_s = (unix_now_ns() - read_clock_ns(CLOCK_BOOTTIME)) / kNsPerSecond;
  const auto ticks_per_second = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  return UnixNs::at((boot_s - 1) * kNsPerSecond + ticks * kNsPerSecond / ticks_per_second);
}

std::string read_perf_map(FILE* file, const std::function<void(const JitCode&)>& take) {
  uint64_t bytes = 0, wrong = 0;
  const auto take_line = [&](std::string_view text) {
    JitCode code;
    if (parse(text, &code)) {
      take(code);
    } else {
      ++wrong;
    }
  };
  std::string text;  // the part of the file that was not parsed yet
  std::vector<char> chunk(kChunk);
  while (bytes < kMaxJitFile) {
    const size_t count = fread(chunk.data(), 1, chunk.size(), file);
    if (count == 0) break;
    bytes += count;
    text.append(chunk.data(), count);
    size_t begin = 0;
    for (size_t end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
      take_line(std::string_view(text).substr(begin, end - begin));
    }
    text.erase(0, begin);
    if (text.size() >= kChunk) {  // no valid line is that long
      ++wrong;
      text.clear();
    }
  }
  if (!text.empty()) take_line(text);
  std::string problem;
  if (bytes >= kMaxJitFile) {
    problem = fmt::format("larger than {} MB, the rest was not read", kMaxJitFile >> 20);
  }
  if (wrong != 0) {
    problem += fmt::format("{}{} lines make no sense", problem.empty() ? "" : "; ", wrong);
  }
  return problem;
}

}  // namespace sampan
