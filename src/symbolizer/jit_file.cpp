#include "symbolizer/jit_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/units.h"

namespace sampan::symbolizer {

JitFile open_jit_file(const std::string& path, uint64_t begun_unix_ns) {
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

// A process of this number that began earlier is the same one.
uint64_t begun_unix_ns(const profile::Profile& profile, const profile::Process& process) {
  const uint64_t recorded = profile.session.start_unix_ns + process.start_ns;
  const JitFile stat(fopen(fmt::format("/proc/{}/stat", process.pid).c_str(), "re"));
  char text[1024] = {};
  if (stat == nullptr || fread(text, 1, sizeof text - 1, stat.get()) == 0) return recorded;
  const std::string_view all = text;
  std::string_view rest = all.substr(std::min(all.rfind(')') + 1, all.size()));
  // Field 22, and the rest begins before field 3 (proc_pid_stat(5)).
  for (int field = 3; field < 22; ++field) {
    rest.remove_prefix(std::min(rest.find(' ', 1), rest.size()));
  }
  const uint64_t ticks = strtoull(std::string(rest).c_str(), nullptr, 10);
  timespec now{}, since_boot{};
  clock_gettime(CLOCK_REALTIME, &now);
  clock_gettime(CLOCK_BOOTTIME, &since_boot);
  const auto boot_s = static_cast<uint64_t>(now.tv_sec - since_boot.tv_sec);
  const auto ticks_per_second = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  return std::min(recorded, (boot_s - 1) * kNsPerSecond + ticks * kNsPerSecond / ticks_per_second);
}

}  // namespace sampan::symbolizer
