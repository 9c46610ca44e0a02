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
#include "base/units.h"

namespace sampan::attach {
namespace {
// The kernel tells how a process ended while it is a zombie, and, since Linux 6.15, when it has
// been reaped; not in the moment between. So we ask again for a while.
constexpr uint64_t kPatience = kNsPerSecond / 4;
// For what an engine still has to read of a process that has ended.
constexpr uint64_t kLastRecords = kNsPerSecond / 200;

void add_new(const std::vector<HiddenFile>& files, std::vector<HiddenFile>* all) {
  for (const HiddenFile& file : files) {
    const auto is_same = [&file](const HiddenFile& other) {
      return other.path == file.path && other.build_id == file.build_id;
    };
    if (std::ranges::none_of(*all, is_same)) all->push_back(file);
  }
}

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
  entry.process->set_paused(options_.paused, origin.start_ns);
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
  if (options_.paused) return;
  for (auto& [pid, entry] : processes_) entry.waits->look(now_ns);
}

std::vector<HiddenFile> RecordedTargets::hidden() const {
  std::vector<HiddenFile> files = hidden_;
  for (const auto& [pid, entry] : processes_) add_new(entry.process->hidden(), &files);
  return files;
}

void RecordedTargets::set_paused(bool paused, uint64_t now_ns) {
  options_.paused = paused;
  for (auto& [pid, entry] : processes_) {
    entry.process->set_paused(paused, now_ns);
    if (paused && entry.waits) entry.waits->finish(now_ns);
  }
}

void RecordedTargets::set_period(uint64_t period_ns) {
  options_.period_ns = period_ns;
  for (auto& [pid, entry] : processes_) entry.process->set_period(period_ns);
  next_look_ns_ = std::min(next_look_ns_, monotonic_ns() + period_ns);
}

uint64_t RecordedTargets::cpu_ns() const {
  uint64_t sum = ended_cpu_ns_;
  for (const auto& [pid, entry] : processes_) sum += entry.process->cpu_ns();
  return sum;
}

void RecordedTargets::end_segment(uint64_t now_ns) {
  for (auto& [pid, entry] : processes_) {
    if (entry.waits && !options_.paused) entry.waits->finish(now_ns);
    entry.process->end_segment(now_ns);
  }
  next_look_ns_ = now_ns;  // at all of them anew
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
  add_new(entry.process->hidden(), &hidden_);
  ended_cpu_ns_ += entry.process->cpu_ns();
  last_end_ns_ = std::max(last_end_ns_, entry.end_ns);
  if (options_.segments != nullptr && !lives_on) {
    options_.segments->process_ended(exit, entry.end_ns - options_.start_ns);
  }
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
    entry.process->look_at_clock(now_ns);
    ++it;
  }
  if (now_ns >= next_refresh_ns_) {
    next_refresh_ns_ = now_ns + kNsPerSecond;
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
