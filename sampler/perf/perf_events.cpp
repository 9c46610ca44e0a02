#include "sampler/perf/perf_events.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/units.h"
#include "sampler/perf/perf_ring.h"
#include "sampler/recorder/source.h"

namespace sampan::sampler {
namespace {

constexpr size_t kPage = 4096;
// Memory of rings is locked, and an ordinary user has little of it (perf_event_mlock_kb for each
// CPU, RLIMIT_MEMLOCK in all). Rings are smaller if the kernel refuses more.
constexpr size_t kLargestRing = size_t{32} << 20;
constexpr size_t kSmallestRing = size_t{256} << 10;
constexpr size_t kLargestRecord = size_t{64} << 10;
constexpr size_t kAllRings = size_t{256} << 20;
// Wakes us soon enough to find the rest of a stack unchanged that is larger than its copy.
constexpr size_t kWakeUp = size_t{128} << 10;
// The largest multiple of 8 below 64 KB; the kernel lowers it until the record fits.
constexpr uint32_t kStackBytes = 65528;

int open_perf_event(const perf_event_attr& attributes, pid_t tid, int cpu) {
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC));
}

perf_event_attr software_event(uint64_t config) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = config;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  attributes.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  attributes.sample_id_all = 1;
  return attributes;
}

}  // namespace

PerfEvents::PerfEvents(const Options& options) : options_(options) {
  const auto processors = static_cast<size_t>(std::max(get_nprocs_conf(), 1));
  size_t size = std::bit_ceil(kLargestRecord * options.rate_hz * options.unread_ns / kNsPerSecond);
  size = std::min(
      {std::max(size, kSmallestRing), kLargestRing, std::bit_floor(kAllRings / processors)});
  while (!open_rings(size)) {
    if (errno != EPERM && errno != ENOMEM) throw Refused(errno, "perf_event_open");
    size /= 2;
    if (size < kSmallestRing) throw Refused(errno, "memory for the rings of perf events");
  }
}

void PerfEvents::Unmap::operator()(void* memory) const {
  munmap(memory, size);
}

// For each CPU, an event of this thread that never occurs: its ring lives as long as this object.
bool PerfEvents::open_rings(size_t data_size) {
  mappings_.clear();
  ring_events_.clear();
  rings_.clear();
  perf_event_attr attributes = software_event(PERF_COUNT_SW_DUMMY);
  attributes.watermark = 1;
  attributes.wakeup_watermark = static_cast<uint32_t>(std::min(data_size / 4, kWakeUp));
  for (int cpu = 0; cpu < get_nprocs_conf(); ++cpu) {
    FileDescriptor event(open_perf_event(attributes, 0, cpu));
    if (!event && errno == ENODEV) continue;  // not online
    if (!event) return false;
    void* memory =
        mmap(nullptr, kPage + data_size, PROT_READ | PROT_WRITE, MAP_SHARED, event.get(), 0);
    if (memory == MAP_FAILED) return false;
    mappings_.emplace_back(memory, Unmap{kPage + data_size});
    const auto* const bytes = static_cast<const uint8_t*>(memory);
    rings_.push_back({PerfRing(static_cast<perf_event_mmap_page*>(memory),
                               std::span<const uint8_t>(bytes + kPage, data_size)),
                      event.get(), cpu});
    ring_events_.push_back(std::move(event));
  }
  return true;
}

int PerfEvents::open(pid_t tid) {
  if (opened_.contains(tid)) return 0;
  if (const int error = open_clock(tid); error != 0) return error;
  Opened opened = std::move(opened_.extract(tid).mapped());
  if (const int error = open_events(tid, false, &opened.events); error != 0) return error;
  opened_.emplace(tid, std::move(opened));
  return 0;
}

int PerfEvents::open_events(pid_t tid, bool disabled, std::vector<FileDescriptor>* events) {
  for (const Ring& ring : rings_) {
    FileDescriptor event(open_event(tid, ring.cpu, disabled));
    if (!event && errno == ENODEV) continue;
    if (!event || ioctl(event.get(), PERF_EVENT_IOC_SET_OUTPUT, ring.fd) != 0) return errno;
    events->push_back(std::move(event));
  }
  return 0;
}

int PerfEvents::open_clock(pid_t tid) {
  const perf_event_attr counter = software_event(PERF_COUNT_SW_TASK_CLOCK);
  FileDescriptor clock(open_perf_event(counter, tid, -1));
  if (!clock) return errno;
  opened_[tid].clock = std::move(clock);
  return 0;
}

// inherit_stat, which would tell a thread's clock at its end, is not used: the thread writes it
// from its own CPU to the rings of all CPUs. Rings are made for one writer, and records of others
// got lost (seen on Linux 6.18: up to half of the FORK and EXIT records when threads end two at a
// time).
//
// Features that the kernel does not know or permit are left out, for this event and for later ones.
int PerfEvents::open_event(pid_t tid, int cpu, bool disabled) {
  perf_event_attr attributes = software_event(PERF_COUNT_SW_TASK_CLOCK);
  attributes.sample_period = 1'000'000'000 / options_.rate_hz;
  attributes.sample_type = kPerfSampleType;
  attributes.sample_regs_user = kPerfRegisters;
  attributes.sample_stack_user = kStackBytes;
  attributes.disabled = disabled ? 1 : 0;
  attributes.inherit = 1;
  attributes.inherit_thread = options_.inherit_children ? 0 : 1;
  if (options_.wakes_at_samples) {
    attributes.wakeup_events = 1;
    attributes.context_switch = 1;
  } else {
    attributes.watermark = 1;
    attributes.wakeup_watermark = UINT32_MAX;  // the ring's own event wakes us
  }
  attributes.task = 1;
  attributes.comm = 1;
  attributes.comm_exec = 1;
  attributes.mmap = 1;
  while (true) {
    attributes.exclude_kernel = samples_kernel_ ? 0 : 1;
    // With inheritance since Linux 6.13.
    if (samples_clock_) attributes.sample_type |= PERF_SAMPLE_READ;
    const int fd = open_perf_event(attributes, tid, cpu);
    if (fd >= 0) return fd;
    if (errno == EACCES && samples_kernel_ && opened_.empty()) {
      samples_kernel_ = false;
    } else if (errno == EINVAL && samples_clock_ && opened_.empty()) {
      samples_clock_ = false;
      attributes.sample_type &= ~static_cast<uint64_t>(PERF_SAMPLE_READ);
    } else {
      return -1;
    }
  }
}

void PerfEvents::begin_change(uint32_t rate_hz, bool wakes_at_samples) {
  old_options_ = options_;
  options_.rate_hz = rate_hz;
  options_.wakes_at_samples = wakes_at_samples;
}

int PerfEvents::prepare(pid_t tid) {
  return open_events(tid, true, &prepared_[tid]);
}

void PerfEvents::give_up() {
  options_ = old_options_;
  prepared_.clear();
}

// Inherited events stop, start, and go together with those that they were inherited from.
void PerfEvents::stop() {
  const auto stop_each = [](const std::vector<FileDescriptor>& events) {
    for (const auto& event : events) ioctl(event.get(), PERF_EVENT_IOC_DISABLE, 0);
  };
  for (const auto& [tid, opened] : opened_) stop_each(opened.events);
  stop_each(retired_);
}

void PerfEvents::start() {
  for (const auto& [tid, events] : prepared_) {
    for (const auto& event : events) ioctl(event.get(), PERF_EVENT_IOC_ENABLE, 0);
  }
  retired_.clear();
  for (auto& [tid, opened] : opened_) opened.events.clear();
  for (auto& [tid, events] : prepared_) opened_[tid].events = std::move(events);
  prepared_.clear();
}

void PerfEvents::retire(pid_t tid) {
  const auto found = opened_.find(tid);
  if (found == opened_.end()) return;
  for (FileDescriptor& event : found->second.events) retired_.push_back(std::move(event));
  opened_.erase(found);
}

std::optional<uint64_t> PerfEvents::clock_ns(pid_t tid) const {
  const auto found = opened_.find(tid);
  if (found == opened_.end()) return std::nullopt;
  uint64_t value = 0;
  if (read(found->second.clock.get(), &value, sizeof value) != sizeof value) return std::nullopt;
  return value;
}

}  // namespace sampan::sampler
