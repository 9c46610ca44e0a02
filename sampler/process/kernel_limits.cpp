#include "sampler/process/kernel_limits.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <csignal>

#include "sampler/process/proc_text.h"

namespace sampan::sampler {
namespace {

constexpr unsigned kSysAdmin = 21;  // CAP_SYS_ADMIN

std::optional<int> setting(const char* name) {
  const auto text = read_whole(fmt::format("/proc/sys/kernel/{}", name));
  if (!text || text->empty()) return std::nullopt;
  return std::atoi(text->c_str());  // may be negative
}

uint64_t own_status(std::string_view key, int base) {
  const auto status = read_whole("/proc/self/status");
  std::string_view line = line_after(status ? *status : std::string_view(), key);
  return take_number(line, base);
}

}  // namespace

std::optional<int> ptrace_scope() {
  return setting("yama/ptrace_scope");
}

bool ends_with_namespace() {
  constexpr ino_t kOfTheMachine = 0xEFFFFFFC;  // PROC_PID_INIT_INO of the kernel
  struct stat status {};
  return stat("/proc/self/ns/pid", &status) == 0 && status.st_ino != kOfTheMachine;
}

std::optional<int> perf_event_paranoid() {
  return setting("perf_event_paranoid");
}

std::optional<int> perf_sample_rate_limit() {
  return setting("perf_event_max_sample_rate");
}

int tick_rate_hz() {
  timespec resolution{};  // of the coarse clocks: one tick
  if (clock_getres(CLOCK_MONOTONIC_COARSE, &resolution) != 0 || resolution.tv_nsec <= 0) return 250;
  return static_cast<int>((1'000'000'000 + resolution.tv_nsec / 2) / resolution.tv_nsec);
}

std::optional<uint64_t> pending_signal_limit(pid_t pid) {
  rlimit limit{};
  if (prlimit(pid, RLIMIT_SIGPENDING, nullptr, &limit) != 0) return std::nullopt;
  return limit.rlim_cur;
}

bool has_capability(Capability capability) {
  const uint64_t effective = own_status("CapEff:", 16);
  const auto has = [effective](unsigned number) { return (effective >> number & 1) != 0; };
  return has(static_cast<unsigned>(capability)) ||
         (capability == Capability::kPerfmon && has(kSysAdmin));
}

bool under_seccomp_filter() {
  return own_status("Seccomp:", 10) == 2;
}

bool seccomp_filter_permits_samples() {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    timer_t timer{};
    timer_create(CLOCK_THREAD_CPUTIME_ID, nullptr, &timer);
    struct sigaction action {};
    action.sa_handler = [](int) {};
    sigaction(SIGURG, &action, nullptr);
    raise(SIGURG);
    _exit(0);
  }
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

std::string user_name(uid_t user) {
  const passwd* const entry = getpwuid(user);
  return entry != nullptr ? fmt::format("{} ({})", entry->pw_name, user) : fmt::format("{}", user);
}

}  // namespace sampan::sampler
