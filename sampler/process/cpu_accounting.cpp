#include "sampler/process/cpu_accounting.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>

#include <cctype>
#include <cstdlib>

#include "base/clock.h"
#include "base/syscall.h"
#include "base/units.h"
#include "sampler/process/proc_task.h"
#include "sampler/process/proc_text.h"

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

// The kernel's encoding of a process's CPU clock for clock_gettime (~pid << 3 | CPUCLOCK_SCHED).
clockid_t process_cpu_clock(pid_t pid) {
  return static_cast<clockid_t>((~static_cast<unsigned>(pid) << 3) | 2u);
}

// The last field of /proc/PID/stat, as wait() gives it.
std::optional<int> zombie_wait_status(pid_t pid) {
  if (thread_state(pid, pid) != 'Z') return std::nullopt;
  const auto stat = read_whole(fmt::format("/proc/{}/stat", pid));
  const size_t space = stat ? stat->find_last_of(' ') : std::string::npos;
  if (space == std::string::npos) return std::nullopt;
  return std::atoi(stat->c_str() + space);
}

// CPUs without a tick while they run one thread (nohz_full): its account is up to a second old
// there. The file has "" or "(null)" when there are none.
bool has_tickless_cpus() {
  char buffer[16];
  const auto cpus = read_start("/sys/devices/system/cpu/nohz_full", buffer);
  return cpus && !cpus->empty() && std::isdigit(static_cast<unsigned char>(cpus->front())) != 0;
}

}  // namespace

std::optional<CpuNs> process_cpu_ns(pid_t pid) {
  timespec now{};
  if (raw_syscall(SYS_clock_gettime, process_cpu_clock(pid), &now) != 0) return std::nullopt;
  return CpuNs::at(static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 +
                   static_cast<uint64_t>(now.tv_nsec));
}

ExitState from_wait_status(int status) {
  if (WIFEXITED(status)) return {WEXITSTATUS(status), std::nullopt};
  if (WIFSIGNALED(status)) return {std::nullopt, WTERMSIG(status)};
  return {};
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

ExitState exit_state(pid_t pid, int pidfd) {
  const ExitState exit = exit_state(pidfd);
  const std::optional<int> status = exit.known() ? std::nullopt : zombie_wait_status(pid);
  return status ? from_wait_status(*status) : exit;
}

StolenTime::StolenTime() : known_(!has_tickless_cpus()) {
  look(monotonic_ns());  // what was stolen since the boot tells what is to be expected
}

void StolenTime::look(MonotonicNs now_ns) {
  if (!known_ || now_ns < next_look_ns_) return;
  next_look_ns_ = now_ns + kNsPerSecond;
  char buffer[256];
  const uint64_t total = stolen_ticks(read_start("/proc/stat", buffer).value_or(""));
  any_ = total != total_;
  total_ = total;
}

uint64_t stolen_ticks(std::string_view stat) {
  constexpr int kFieldsBefore = 7;  // user nice system idle iowait irq softirq
  std::string_view line = line_after(stat, "cpu ");
  for (int field = 0; field < kFieldsBefore; ++field) take_word(line);
  return take_number(line);
}

uint64_t least_stolen(uint64_t perf_ns, CpuNs cpu_ns, uint64_t tick_ns) {
  const uint64_t most_cpu_ns = cpu_ns + tick_ns;
  return perf_ns > most_cpu_ns ? perf_ns - most_cpu_ns : 0;
}

}  // namespace sampan::sampler
