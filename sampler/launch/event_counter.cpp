#include "sampler/launch/event_counter.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace sampan::sampler {

EventCounter::EventCounter(pid_t pid, const CountedEvent& event) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = event.type;
  attributes.config = event.config;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  attributes.disabled = 1;
  attributes.enable_on_exec = 1;
  attributes.inherit = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  event_ = FileDescriptor(static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, pid, -1, -1, PERF_FLAG_FD_CLOEXEC)));
  if (!event_) error_ = errno;
}

std::optional<uint64_t> EventCounter::count() const {
  struct {
    uint64_t value, enabled_ns, running_ns;
  } counted{};
  if (!event_ || read(event_.get(), &counted, sizeof counted) != sizeof counted ||
      counted.running_ns < counted.enabled_ns) {
    return std::nullopt;
  }
  return counted.value;
}

}  // namespace sampan::sampler
