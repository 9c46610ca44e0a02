#include "serve/sources.h"

#include <time.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/clock.h"
#include "base/units.h"
#include "profile/profile.h"
#include "recording/segment_files.h"

namespace sampan::serve {
namespace {

// Of all its threads, also those that have ended; 0 when it is gone.
uint64_t process_cpu_ns(pid_t pid) {
  clockid_t clock = 0;
  return pid != 0 && clock_getcpuclockid(pid, &clock) == 0 ? read_clock_ns(clock) : 0;
}

}  // namespace

LiveSource::LiveSource(const live::CaptureOptions& options, std::optional<pid_t> target)
    : target_(target), before_(look()), capture_(options) {
  if (target) begin();
}

LiveSource::Look LiveSource::look() const {
  return {.time_ns = monotonic_ns(), .cpu_ns = target_ ? process_cpu_ns(*target_) : 0};
}

// Nobody looked at the moment when the sampling began. Starting a recorder takes long where CPUs
// are wanted, and the target goes on meanwhile: evenly, for want of knowledge.
void LiveSource::begin() {
  uint64_t begun_ns = capture_.now_ns();  // of the session, as the recording's times
  for (const recording::Process& process : capture_.read().processes) {
    if (process.pid == *target_) begun_ns = std::min(begun_ns, process.start_ns);
  }
  const Look now = look();
  const uint64_t sampled_ns = capture_.now_ns() - begun_ns;
  const uint64_t looked_ns = now.time_ns - before_.time_ns;
  const double part =
      1 - std::min(1.0, static_cast<double>(sampled_ns) / static_cast<double>(looked_ns));
  const uint64_t used_ns = now.cpu_ns - std::min(before_.cpu_ns, now.cpu_ns);  // 0: it is gone
  before_.cpu_ns += static_cast<uint64_t>(part * static_cast<double>(used_ns));
}

recording::Recording LiveSource::read(uint64_t from_ns, uint64_t to_ns) {
  {
    const std::lock_guard lock(mutex_);
    capture_.flush();
  }
  return capture_.read(from_ns, to_ns);
}

uint64_t LiveSource::now_ns() {
  return capture_.now_ns();
}

// Processes that live are asked: their clocks know all images that they have been. Of the others
// the recording knows, as long as it is kept.
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
    const uint64_t cpu_ns = process_cpu_ns(pid);
    const uint64_t before_ns = target_ == pid ? before_.cpu_ns : 0;
    now_ns[pid] = cpu_ns > before_ns ? cpu_ns - before_ns : 0;
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

recording::Recording RecordedSource::read(uint64_t from_ns, uint64_t to_ns) {
  recording::Recording recording = recording::read_whole(path_);
  std::erase_if(recording.samples, [&](const recording::Sample& sample) {
    return sample.time_ns < from_ns || sample.time_ns >= to_ns;
  });
  return recording;
}

}  // namespace sampan::serve
