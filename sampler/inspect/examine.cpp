// What `sampan doctor` finds out about the engines. Each thing is tried, on a child of our own or
// on the process in question, and released at once.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>

#include "base/file_descriptor.h"
#include "base/processor.h"
#include "sampler/inspect/permission.h"
#include "sampler/process/kernel_limits.h"
#include "sampler/process/memory_map.h"
#include "sampler/process/proc_task.h"
#include "sampler/process/proc_text.h"
#include "sampler/process/remote_memory.h"
#include "sampler/ptrace/ptrace_support.h"

namespace sampan::sampler {
namespace {

// A child that waits, to try things on.
class ChildProcess {
 public:
  ChildProcess() : pid_(fork()) {
    if (pid_ != 0) return;
    pause();
    _exit(0);
  }
  ~ChildProcess() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  ChildProcess(const ChildProcess&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

// The errno of PTRACE_SEIZE, called in a process of its own: when that ends, the kernel releases
// what it traced without stopping it.
int try_ptrace(pid_t pid) {
  const pid_t tracer = fork();
  if (tracer == 0) _exit(ptrace(PTRACE_SEIZE, pid, 0, 0) == 0 ? 0 : errno);
  int status = 0;
  if (tracer < 0 || waitpid(tracer, &status, 0) != tracer || !WIFEXITED(status)) return ECHILD;
  return WEXITSTATUS(status);
}

int try_perf(pid_t pid, bool kernel) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.sample_period = 10'000'000;
  attributes.disabled = 1;
  attributes.exclude_kernel = !kernel;
  attributes.exclude_hv = 1;
  const FileDescriptor event(static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, pid, -1, -1, PERF_FLAG_FD_CLOEXEC)));
  return event ? 0 : errno;
}

Finding refusal(std::string subject, int error, std::string why) {
  return {false, std::move(subject), fmt::format("refused: {}", std::strerror(error)),
          std::move(why)};
}

// The doctor never says ok of something that it could not read.
Finding unreadable(std::string subject, const std::string& what) {
  return {false, std::move(subject), fmt::format("not known: {} cannot be read", what), ""};
}

Finding perf_finding(pid_t pid) {
  if (const int error = try_perf(pid, false)) {
    return refusal("perf engine", error, why_perf_refused(pid, error));
  }
  const bool kernel = try_perf(pid, true) == 0;
  const auto limit_hz = perf_sample_rate_limit();
  return {true, "perf engine",
          fmt::format("permitted, {}{}", limit_hz ? fmt::format("up to {} Hz, ", *limit_hz) : "",
                      kernel ? "kernel time too" : "samples come in user code"),
          ""};
}

std::vector<Finding> ptrace_findings(pid_t pid, bool ours) {
  const PtraceSupport support = ptrace_support(pid);
  if (support == PtraceSupport::kNone) {
    const std::string state = fmt::format("not on {}", kProcessor);
    const std::string why = "from outside, perf is the only engine";
    return {{false, "ptrace engine", state, why}, {false, "poll engine", state, why}};
  }
  if (const int error = try_ptrace(pid)) {
    const std::string why = why_ptrace_refused(pid, error);
    return {refusal("ptrace engine", error, why), refusal("poll engine", error, why)};
  }
  const std::string poll = "permitted; stops threads that run";
  if (!ours && support == PtraceSupport::kPolling) {
    return {{false, "ptrace engine", "the process can have no timers",
             "it is under a seccomp filter, has a shadow stack, or handles the signals that would "
             "do: all its threads would be polled"},
            {true, "poll engine", poll, ""}};
  }
  return {{true, "ptrace engine",
           fmt::format("permitted, up to {} Hz (the kernel's tick)", tick_rate_hz()), ""},
          {true, "poll engine", poll, ""}};
}

Finding memory_finding(pid_t pid) {
  const std::vector<MappedRange> map = read_memory_map(pid);
  char byte = 0;
  for (const MappedRange& range : map) {
    if (read_process(pid, range.start, &byte, 1) == 1) {
      return {true, "waiting threads", "can be read (--clock wall, dump)", ""};
    }
  }
  return {false, "waiting threads", "cannot be read (--clock wall, dump)",
          why_ptrace_refused(pid, map.empty() ? EACCES : EPERM)};
}

// The loader exports _dl_find_object since glibc 2.35: the shim's walker needs no list of modules.
Finding loader_finding(pid_t pid) {
  const std::string subject = "glibc fast path";
  const std::vector<MappedRange> map = read_memory_map(pid);
  if (map.empty()) return unreadable(subject, fmt::format("/proc/{}/maps", pid));
  for (const MappedRange& range : map) {
    const std::string_view path = range.path;
    const std::string_view name = path.substr(path.rfind('/') + 1);
    if (range.inode == 0 || !name.starts_with("ld-linux")) continue;
    const std::string place = fmt::format("{}/root{}", shared_entries(pid), path);
    const auto file = read_whole(place);
    if (!file) return unreadable(subject, place);
    const bool found = file->find("_dl_find_object") != std::string::npos;
    if (found) return {true, subject, "_dl_find_object is there (glibc 2.35 or later)", ""};
    return {true, subject, "no _dl_find_object: `sampan run` keeps its own list of modules", ""};
  }
  return {true, subject, "no glibc loader: `sampan run` samples such a program from outside", ""};
}

Finding tick_finding() {
  return {
      true, "kernel tick",
      fmt::format("{} Hz: CPU timers (`sampan run` without perf, ptrace) sample at most that often",
                  tick_rate_hz()),
      ""};
}

Finding paranoid_finding() {
  const auto value = perf_event_paranoid();
  if (!value) return {false, "perf_event_paranoid", "no perf in this kernel", "use ptrace"};
  if (*value > 2 && !has_capability(Capability::kPerfmon)) {
    return {false, "perf_event_paranoid", fmt::format("{}", *value),
            "no perf for ordinary users: `sysctl kernel.perf_event_paranoid=2` as root"};
  }
  return {true, "perf_event_paranoid", fmt::format("{}", *value), ""};
}

Finding scope_finding() {
  const auto value = ptrace_scope();
  if (!value) return {true, "ptrace_scope", "not restricted (no yama)", ""};
  const bool good = *value == 0 || has_capability(Capability::kPtrace);
  return {good, "ptrace_scope", fmt::format("{}", *value),
          good ? "" : "`sysctl kernel.yama.ptrace_scope=0` as root, or start it with sampan run"};
}

Finding pending_finding(pid_t pid) {
  const auto limit = pending_signal_limit(pid);
  const std::string subject = "RLIMIT_SIGPENDING";
  if (!limit) return unreadable(subject, fmt::format("that limit of process {}", pid));
  if (*limit == RLIM_INFINITY) return {true, subject, "unlimited", ""};
  constexpr uint64_t kFew = 64;
  return {*limit >= kFew, subject,
          fmt::format("{}: at most that many threads can have a timer", *limit),
          *limit >= kFew ? "" : "raise it (ulimit -i): threads beyond are unsampled or polled"};
}

}  // namespace

std::vector<Finding> examine(std::optional<pid_t> pid) {
  std::optional<ChildProcess> child;
  if (!pid) child.emplace();
  const pid_t subject = pid ? *pid : child->pid();
  std::vector<Finding> findings = {perf_finding(subject)};
  for (Finding& finding : ptrace_findings(subject, !pid)) findings.push_back(std::move(finding));
  findings.push_back(memory_finding(subject));
  findings.push_back(tick_finding());
  findings.push_back(paranoid_finding());
  findings.push_back(scope_finding());
  findings.push_back(pending_finding(subject));
  findings.push_back(loader_finding(subject));
  return findings;
}

}  // namespace sampan::sampler
