#include "sampler/cpu_accounting.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <charconv>

#include "sampler/file_descriptor.h"

namespace sampan::sampler {
namespace {

// As in the kernel's include/uapi/linux/pidfd.h, which is newer than Debian 12's headers.
struct PidfdInfo {
  uint64_t mask;
  uint64_t cgroup_id;
  uint32_t pid, tgid, ppid;
  uint32_t ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
  int32_t exit_code;  // as wait() gives it
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr uint64_t kPidfdInfoExit = 1u << 3;
constexpr unsigned long kPidfdGetInfo = _IOWR(0xFF, 11, PidfdInfo);

ExitState from_wait_status(int status) {
  if (WIFEXITED(status)) return {WEXITSTATUS(status), std::nullopt};
  if (WIFSIGNALED(status)) return {std::nullopt, WTERMSIG(status)};
  return {};
}

// The kernel's encoding of a process's CPU clock for clock_gettime (~pid << 3 | CPUCLOCK_SCHED).
clockid_t process_cpu_clock(pid_t pid) {
  return static_cast<clockid_t>((~static_cast<unsigned>(pid) << 3) | 2u);
}

}  // namespace

std::optional<uint64_t> process_cpu_ns(pid_t pid) {
  timespec now{};
  if (clock_gettime(process_cpu_clock(pid), &now) != 0) return std::nullopt;
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

std::optional<uint64_t> thread_cpu_ns(pid_t pid, pid_t tid) {
  const FileDescriptor file(
      open(fmt::format("/proc/{}/task/{}/schedstat", pid, tid).c_str(), O_RDONLY | O_CLOEXEC));
  char text[128];
  const ssize_t size = file ? read(file.get(), text, sizeof text) : 0;
  uint64_t cpu_ns = 0;
  if (size <= 0 || std::from_chars(text, text + size, cpu_ns).ec != std::errc()) {
    return std::nullopt;
  }
  return cpu_ns;
}

ExitState exit_state(int pidfd) {
  siginfo_t info{};
  if (waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
      info.si_pid != 0) {
    if (info.si_code == CLD_EXITED) return {info.si_status, std::nullopt};
    return {std::nullopt, info.si_status};
  }
  PidfdInfo kernel{};
  kernel.mask = kPidfdInfoExit;
  if (ioctl(pidfd, kPidfdGetInfo, &kernel) == 0 && (kernel.mask & kPidfdInfoExit) != 0) {
    return from_wait_status(kernel.exit_code);
  }
  return {};
}

}  // namespace sampan::sampler
