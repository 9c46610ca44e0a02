#include "sampler/inspect/permission.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/text/readable.h"
#include "sampler/process/kernel_limits.h"
#include "sampler/process/memory_map.h"
#include "sampler/process/proc_task.h"
#include "sampler/process/proc_text.h"
#include "sampler/recorder/source.h"

namespace sampan::sampler {
namespace {

// The user and the rights of a process, from /proc/PID/status.
struct Identity {
  pid_t thread_group = 0;
  uint64_t user = 0;          // effective
  uint64_t capabilities = 0;  // permitted
};

std::optional<Identity> identity_of(pid_t pid) {
  const auto status = read_whole(fmt::format("/proc/{}/status", pid));
  if (!status || status->empty()) return std::nullopt;
  Identity identity;
  std::string_view text = line_after(*status, "Tgid:");
  identity.thread_group = static_cast<pid_t>(take_number(text));
  text = line_after(*status, "Uid:");
  take_word(text);
  identity.user = take_number(text);
  text = line_after(*status, "CapPrm:");
  identity.capabilities = take_number(text, 16);
  return identity;
}

std::string named(pid_t pid) {
  const auto name = thread_name(pid, pid);
  return name ? fmt::format("process {} ({})", pid, *name) : fmt::format("process {}", pid);
}

// Root owns the /proc files of a process that is not dumpable (proc(5)).
bool is_dumpable(pid_t pid, uint64_t user) {
  struct stat file;
  return stat((shared_entries(pid) + "/environ").c_str(), &file) != 0 || file.st_uid == user;
}

// e_ident[EI_CLASS] of the program's file; false if that may not be read.
bool is_32_bit(pid_t pid) {
  char start[5];
  const auto ident = read_start((shared_entries(pid) + "/exe").c_str(), start);
  return ident && ident->size() == sizeof start && ident->starts_with("\177ELF") && start[4] == 1;
}

// The rules of __ptrace_may_access, in its order (kernel/ptrace.c).
std::string access_rule(const std::string& target, pid_t pid, bool attaching) {
  const auto theirs = identity_of(pid);
  const auto ours = identity_of(getpid());
  if (!theirs || !ours) return fmt::format("{} has ended", target);
  if (has_capability(Capability::kPtrace)) return "";
  if (ours->user == 0) {
    return fmt::format(
        "{}: sampan is root, but without the capability CAP_SYS_PTRACE, as in a container: start "
        "the container with --cap-add SYS_PTRACE",
        target);
  }
  if (theirs->user != ours->user) {
    return fmt::format(
        "{} belongs to another user ({}, sampan runs as {}): run sampan as that user or as root",
        target, user_name(static_cast<uid_t>(theirs->user)),
        user_name(static_cast<uid_t>(ours->user)));
  }
  if ((theirs->capabilities & ~ours->capabilities) != 0) {
    return fmt::format("{} has capabilities that sampan lacks: run sampan as root", target);
  }
  if (!is_dumpable(pid, theirs->user)) {
    return fmt::format(
        "{} is not dumpable (it has changed its user, asked for it with prctl(PR_SET_DUMPABLE), or "
        "its program may not be read): run sampan as root",
        target);
  }
  const auto scope = ptrace_scope();
  if (attaching && scope && *scope != 0) {
    return fmt::format(
        "{}: kernel.yama.ptrace_scope is {}, which lets {} look into a process: run sampan as "
        "root, start the program with sampan run, or set it to 0 with sysctl",
        target, *scope,
        *scope == 1   ? "only its ancestors"
        : *scope == 2 ? "only root"
                      : "nobody");
  }
  return "";
}

bool is_called(pid_t pid, const std::string& name) {
  if (thread_name(pid, pid) == name) return true;
  return file_name(executable_of(pid)) == name || file_name(program_of(pid)) == name;
}

std::vector<pid_t> processes_called(const std::string& name) {
  std::vector<pid_t> found;
  DIR* const directory = opendir("/proc");
  if (directory == nullptr) return found;
  while (const dirent* entry = readdir(directory)) {
    pid_t pid = 0;
    std::from_chars(entry->d_name, entry->d_name + std::strlen(entry->d_name), pid);
    if (pid > 0 && pid != getpid() && is_called(pid, name)) found.push_back(pid);
  }
  closedir(directory);
  return found;
}

}  // namespace

std::string why_not_profilable(pid_t pid) {
  if (pid == getpid()) return "this is sampan itself: give the pid of another process";
  const auto status = pid > 0 ? process_status(pid) : std::nullopt;
  const auto identity = pid > 0 ? identity_of(pid) : std::nullopt;
  if (!status || !identity) {
    return fmt::format("there is no process {}: `ps -e` lists those that run", pid);
  }
  if (identity->thread_group != pid) {
    return fmt::format("{} is a thread of {}: give the pid of the process", pid,
                       named(identity->thread_group));
  }
  if (status->state == 'Z' || status->state == 'X') {
    // Its threads may outlive the leader.
    if (thread_ids(pid).size() < 2) {
      return fmt::format("{} has ended; its parent, {}, has not waited for it yet", named(pid),
                         named(status->parent_pid));
    }
  }
  if (status->kernel_thread) {
    return fmt::format(
        "{} is a thread of the kernel: it runs no program. `perf record -a` shows what the kernel "
        "does",
        named(pid));
  }
  if (is_32_bit(pid)) {
    return fmt::format("{} runs a 32-bit program; sampan walks 64-bit stacks only", named(pid));
  }
  return "";
}

std::string why_perf_refused(pid_t pid, int error) {
  const std::string target = named(pid);
  if (error == ESRCH) return fmt::format("{} has ended", target);
  if (error == ENOSYS) return "perf_event_open is not part of this kernel, or a filter hides it";
  if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV) {
    return "the processor has no counter of this event here, as in most virtual machines";
  }
  if (error == EMFILE || error == ENFILE) {
    return fmt::format(
        "{} has more threads than sampan may have open files: raise the limit (ulimit -n)", target);
  }
  if (error != EPERM && error != EACCES) {
    return fmt::format("perf_event_open for {}: {}", target, std::strerror(error));
  }
  if (std::string rule = access_rule(target, pid, false); !rule.empty()) return rule;
  const int paranoid = perf_event_paranoid().value_or(2);
  if (paranoid > 2 && !has_capability(Capability::kPerfmon)) {
    return fmt::format(
        "kernel.perf_event_paranoid is {}, which keeps perf_event_open from ordinary users: run "
        "sampan as root, or set it to 2 with sysctl",
        paranoid);
  }
  if (under_seccomp_filter()) {
    return "sampan itself runs under a seccomp filter (a container's, or a service's) that refuses "
           "perf_event_open: allow it there, or use another engine";
  }
  return fmt::format(
      "perf_event_open for {}: {}: a security module (SELinux, AppArmor) may be the reason", target,
      std::strerror(error));
}

std::string why_ptrace_refused(pid_t pid, int error) {
  const std::string target = named(pid);
  if (error == ESRCH) return fmt::format("{} has ended", target);
  if (error == ENOSYS) return "ptrace is not part of this kernel, or a filter hides it";
  if (error == EAGAIN) {
    return "the tracer gets no timer: sampan's user has used up its pending signals and timers: "
           "raise the limit (ulimit -i)";
  }
  if (error == EBUSY) {
    return fmt::format(
        "{} looks for memory leaks at its end by tracing itself (LeakSanitizer), and there can "
        "be only one tracer: use the perf engine, or start it with ASAN_OPTIONS=detect_leaks=0",
        target);
  }
  if (error != EPERM && error != EACCES) {
    return fmt::format("ptrace of {}: {}", target, std::strerror(error));
  }
  const auto status = process_status(pid);
  if (status && status->tracer_pid != 0) {
    return fmt::format(
        "{} is being traced by {}, and there can be only one tracer: end that one, or use the perf "
        "engine, which traces nothing",
        target, named(status->tracer_pid));
  }
  if (std::string rule = access_rule(target, pid, true); !rule.empty()) return rule;
  if (under_seccomp_filter()) {
    return "sampan itself runs under a seccomp filter (a container's, or a service's) that refuses "
           "ptrace: allow it there";
  }
  return fmt::format("ptrace of {}: {}: a security module (SELinux, AppArmor) may be the reason",
                     target, std::strerror(error));
}

void demand_reading(pid_t pid) {
  const FileDescriptor file(open((shared_entries(pid) + "/syscall").c_str(), O_RDONLY | O_CLOEXEC));
  char byte;
  int error = file && read(file.get(), &byte, 1) >= 0 ? 0 : errno;
  // Who may read that may read the maps, too, so the process is gone.
  if (error == ENOENT || (error == 0 && read_memory_map(pid).empty())) error = ESRCH;
  if (error != 0) throw Refused(error, "{}", why_ptrace_refused(pid, error));
}

pid_t find_process(const std::string& pid_or_name) {
  pid_t pid = 0;
  const char* const end = pid_or_name.data() + pid_or_name.size();
  const auto [stop, problem] = std::from_chars(pid_or_name.data(), end, pid);
  if (problem == std::errc::result_out_of_range) {
    throw Error("there is no process {}: `ps -e` lists those that run", pid_or_name);
  }
  if (problem == std::errc() && stop == end) return pid;

  const std::vector<pid_t> found = processes_called(pid_or_name);
  if (found.empty()) {
    throw Error("there is no process called {}: `ps -e` lists those that run", pid_or_name);
  }
  if (found.size() == 1) return found.front();
  std::string list;
  for (const pid_t each : found) {
    list += fmt::format("\n  {:>7}  {}", each, fmt::join(command_line_of(each), " "));
  }
  throw Error("{} processes are called {}; give the pid of one:{}", found.size(), pid_or_name,
              list);
}

}  // namespace sampan::sampler
