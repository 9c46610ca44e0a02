#include "attach/recorded_targets.h"

#include <fmt/core.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "attach/proc_task.h"
#include "base/clock.h"

namespace sampan::attach {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
// The kernel tells how a process ended while it is a zombie, and, since Linux 6.15, when it has
// been reaped; not in the moment between. So we ask again for a while.
constexpr uint64_t kPatience = kSecond / 4;
// For what an engine still has to read of a process that has ended.
constexpr uint64_t kLastRecords = kSecond / 200;

// The last field of /proc/PID/stat, as wait() gives it: of a zombie only.
std::optional<int> zombie_wait_status(pid_t pid) {
  const std::optional<char> state = thread_state(pid, pid);
  if (state != 'Z') return std::nullopt;
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text((std::istreambuf_iterator<char>(file)), {});
  text.erase(text.find_last_not_of(" \n") + 1);
  const size_t space = text.rfind(' ');
  if (space == std::string::npos) return std::nullopt;
  return std::atoi(text.c_str() + space);
}

sampler::ExitState exit_state_of(pid_t pid, int pidfd) {
  const sampler::ExitState exit = sampler::exit_state(pidfd);
  if (exit.status || exit.signal) return exit;
  const std::optional<int> status = zombie_wait_status(pid);
  if (!status) return {};
  if (WIFSIGNALED(*status)) return {std::nullopt, WTERMSIG(*status)};
  return {WEXITSTATUS(*status), std::nullopt};
}

}  // namespace

RecordedTargets::RecordedTargets(sampler::EventLoop& loop, recording::Writer& writer,
                                 const Options& options)
    : loop_(loop), writer_(writer), options_(options) {}

RecordedTargets::~RecordedTargets() {
  for (const auto& [pid, entry] : processes_) loop_.forget(entry.pidfd.get());
}

AttachedProcess& RecordedTargets::process(pid_t pid) {
  Entry& entry = processes_[pid];
  if (entry.process) return *entry.process;
  const std::optional<ProcessStatus> status = process_status(pid);
  AttachedProcess::Origin origin{};
  origin.pid = pid;
  origin.parent_pid = status ? status->parent_pid : 0;
  origin.session_start_ns = options_.start_ns;
  origin.start_ns = monotonic_ns();
  origin.period_ns = options_.period_ns;
  origin.awaits_exec = options_.awaits_exec && pid == options_.root;
  entry.process = std::make_unique<AttachedProcess>(writer_, origin);
  if (options_.waits) entry.waits = wait_sampler_of(*entry.process);
  entry.pidfd = sampler::FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!entry.pidfd) {
    entry.end_ns = origin.start_ns;  // it was gone before we came
    return *entry.process;
  }
  loop_.watch(entry.pidfd.get(), [this, pid] {
    Entry& ending = processes_.at(pid);
    loop_.forget(ending.pidfd.get());
    ending.end_ns = monotonic_ns();
  });
  return *entry.process;
}

std::unique_ptr<WaitSampler> RecordedTargets::wait_sampler_of(AttachedProcess& process) {
  return std::make_unique<WaitSampler>(
      writer_,
      WaitSampler::Target{process.pid(), options_.start_ns,
                          [&process](pid_t tid) { return process.thread_row(tid); },
                          [&process](uint64_t now_ns) { process.modules_changed(now_ns); }},
      process.modules(), process.walker(), process.stacks());
}

void RecordedTargets::look(uint64_t now_ns) {
  if (!options_.waits || now_ns < next_look_ns_) return;
  next_look_ns_ = std::max(next_look_ns_ + options_.period_ns, now_ns);
  for (auto& [pid, entry] : processes_) entry.waits->look(now_ns);
}

void RecordedTargets::ended(pid_t pid, uint64_t time_ns, const sampler::ExitState& exit) {
  const auto found = processes_.find(pid);
  if (found == processes_.end()) return;
  if (found->second.end_ns == 0) found->second.end_ns = time_ns;
  end(pid, found->second, exit, false);
  processes_.erase(found);
}

void RecordedTargets::end(pid_t pid, Entry& entry, const sampler::ExitState& exit, bool lives_on) {
  if (entry.pidfd) loop_.forget(entry.pidfd.get());
  if (entry.waits) entry.waits->finish(entry.end_ns);
  entry.process->finish(entry.end_ns, exit, lives_on);
  for (const HiddenFile& file : entry.process->hidden()) {
    const auto is_same = [&file](const HiddenFile& other) {
      return other.path == file.path && other.build_id == file.build_id;
    };
    if (std::ranges::none_of(hidden_, is_same)) hidden_.push_back(file);
  }
  last_end_ns_ = std::max(last_end_ns_, entry.end_ns);
  if (pid != options_.root) return;
  root_ended_ = !lives_on;
  root_exit_ = exit;
}

void RecordedTargets::tick(uint64_t now_ns) {
  for (auto it = processes_.begin(); it != processes_.end();) {
    auto& [pid, entry] = *it;
    if (entry.end_ns != 0 && now_ns >= entry.end_ns + kLastRecords) {
      const sampler::ExitState exit = exit_state_of(pid, entry.pidfd.get());
      if (exit.status || exit.signal || now_ns >= entry.end_ns + kPatience) {
        end(pid, entry, exit, false);
        it = processes_.erase(it);
        continue;
      }
    }
    entry.process->read_clock();
    ++it;
  }
  if (now_ns >= next_refresh_ns_) {
    next_refresh_ns_ = now_ns + kSecond;
    for (auto& [pid, entry] : processes_) entry.process->refresh(now_ns);
  }
  writer_.tick(now_ns);
}

void RecordedTargets::finish(uint64_t now_ns) {
  for (auto& [pid, entry] : processes_) {
    const bool lives_on = entry.end_ns == 0;
    if (lives_on) entry.end_ns = now_ns;
    end(pid, entry, lives_on ? sampler::ExitState() : exit_state_of(pid, entry.pidfd.get()),
        lives_on);
  }
  processes_.clear();
}

}  // namespace sampan::attach
