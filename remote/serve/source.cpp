#include "remote/serve/source.h"

#include <time.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/clock.h"
#include "base/units.h"
#include "profile/profile.h"
#include "recording/segments.h"

namespace sampan::serve {
namespace {

// The CPU time of all threads, including ended ones; 0 if the process is gone.
CpuNs process_cpu_ns(pid_t pid) {
  clockid_t clock = 0;
  const bool known = pid != 0 && clock_getcpuclockid(pid, &clock) == 0;
  return CpuNs::at(known ? read_clock_ns(clock) : 0);
}

}  // namespace

LiveSource::LiveSource(const live::CaptureOptions& options, std::optional<pid_t> target)
    : target_(target), before_(read_cpu()), capture_(options) {
  if (target) estimate_cpu_at_begin();
}

LiveSource::CpuReading LiveSource::read_cpu() const {
  return {.time_ns = monotonic_ns(), .cpu_ns = target_ ? process_cpu_ns(*target_) : CpuNs()};
}

// The CPU time at the moment when sampling began is unknown: starting a recorder takes long on a
// busy machine, and the target runs meanwhile. It is assumed to have run at an even rate.
void LiveSource::estimate_cpu_at_begin() {
  SessionNs begun_ns = capture_.now_ns();  // as in the recording
  for (const recording::Process& process : capture_.read().processes) {
    if (process.pid == *target_) begun_ns = std::min(begun_ns, process.start_ns);
  }
  const CpuReading now = read_cpu();
  const uint64_t sampled_ns = capture_.now_ns() - begun_ns;
  const uint64_t elapsed_ns = now.time_ns - before_.time_ns;
  const double part =
      1 - std::min(1.0, static_cast<double>(sampled_ns) / static_cast<double>(elapsed_ns));
  const uint64_t used_ns = now.cpu_ns.since(before_.cpu_ns);  // 0: it is gone
  before_.cpu_ns += static_cast<uint64_t>(part * static_cast<double>(used_ns));
}

recording::Recording LiveSource::read(SessionNs from_ns, SessionNs to_ns) {
  {
    const std::lock_guard lock(mutex_);
    capture_.flush();
  }
  return capture_.read(from_ns, to_ns);
}

SessionNs LiveSource::now_ns() {
  return capture_.now_ns();
}

// The CPU clock of a live process includes all images that it has executed. For ended processes the
// recording has the CPU time, as long as it is kept.
uint64_t LiveSource::target_cpu_ns(const recording::Recording& recording) {
  std::map<pid_t, uint64_t> now_ns;
  std::vector<bool> ended(recording.processes.size());
  for (const recording::ProcessEnd& end : recording.process_ends) {
    ended[end.process] = true;
    now_ns[recording.processes[end.process].pid] += end.cpu_ns.value_or(0);
  }
  for (uint32_t i = 0; i < recording.processes.size(); ++i) {
    if (ended[i]) continue;
    const pid_t pid = recording.processes[i].pid;
    const CpuNs before_ns = target_ == pid ? before_.cpu_ns : CpuNs();
    now_ns[pid] = process_cpu_ns(pid).since(before_ns);
  }
  uint64_t sum_ns = 0;
  for (const auto& [pid, cpu_ns] : now_ns) cpu_ns_[pid] = std::max(cpu_ns_[pid], cpu_ns);
  for (const auto& [pid, cpu_ns] : cpu_ns_) sum_ns += cpu_ns;
  return sum_ns;
}

Cost LiveSource::cost() {
  const std::lock_guard lock(mutex_);
  return {.recorder = static_cast<double>(process_cpu_ns(capture_.recorder())) / kNsPerSecond,
          .target = static_cast<double>(target_cpu_ns(capture_.read())) / kNsPerSecond};
}

bool LiveSource::over() {
  const std::lock_guard lock(mutex_);
  return capture_.over();
}

int LiveSource::finish() {
  const std::lock_guard lock(mutex_);
  return capture_.finish();
}

RecordedSource::RecordedSource(std::string path) : path_(std::move(path)) {
  const recording::Recording recording = recording::read_whole(path_);
  if (recording.end) end_ns_ = recording.end->time_ns;
  for (const recording::Sample& sample : recording.samples) {
    end_ns_ = std::max(end_ns_, sample.time_ns + 1);
  }
}

recording::Recording RecordedSource::read(SessionNs from_ns, SessionNs to_ns) {
  return recording::cut(recording::read_whole(path_), from_ns, to_ns);
}

}  // namespace sampan::serve
