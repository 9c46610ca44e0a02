// Settings and limits of the kernel, and what this process may do: the values behind
// inspect/permission.h.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace sampan::sampler {

// kernel.yama.ptrace_scope; nothing where the kernel has no yama.
std::optional<int> ptrace_scope();
// kernel.perf_event_paranoid; nothing where the kernel has no perf.
std::optional<int> perf_event_paranoid();
// The highest sampling rate that perf permits, in Hz (kernel.perf_event_max_sample_rate).
std::optional<int> perf_sample_rate_limit();

// Ticks of the kernel in a second (CONFIG_HZ): CPU timers expire on them.
int tick_rate_hz();

// How many signals may be pending for processes of this user (RLIMIT_SIGPENDING of `pid`); each
// timer of a process counts. RLIM_INFINITY: unlimited. Nothing: `pid` may not be asked.
std::optional<uint64_t> pending_signal_limit(pid_t pid);

enum class Capability : unsigned { kPtrace = 19, kPerfmon = 38 };  // of linux/capability.h
// Whether this process has it in effect; CAP_SYS_ADMIN stands for kPerfmon too.
bool has_capability(Capability capability);

// This process is under a seccomp filter.
bool under_seccomp_filter();
// It permits a CPU timer, a signal, and the return from it: tried in a child.
bool seccomp_filter_permits_samples();

// We are killed when the first process of our PID namespace ends, as all processes of a container are.
bool ends_with_namespace();

// "alice (1000)", or "1000" for a user without a name.
std::string user_name(uid_t user);

}  // namespace sampan::sampler
