#include "sampler/perf/sample_capture.h"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "sampler/process/remote_memory.h"

namespace sampan::sampler {
namespace {

// From a sample to the switch that it causes: the copy of its stack, and the rest of the interrupt.
constexpr uint64_t kAtOnce = 50'000;
// A system call writes at most so many bytes to where an argument of it points: a struct stat or rusage.
constexpr uint64_t kWrittenByKernel = 144;
// The scheduler prefers a thread with a short slice to one that has just begun a usual one
// (Linux 6.12; earlier kernels prefer one that has slept).
constexpr uint64_t kSlice = 100'000;
// At most so much is captured of a stack that is larger than the kernel's copy.
constexpr size_t kLargestStack = size_t{1} << 20;
constexpr size_t kMostQueued = size_t{64} << 20;  // bytes, for each ring
// The rings are emptied when one has as much.
constexpr uint64_t kFull = uint64_t{128} << 10;
// Less room than this in a ring: a record may not have fit.
constexpr uint64_t kRecordRoom = uint64_t{64} << 10;

// As a real-time thread if that is permitted (CAP_SYS_NICE). sched_setattr(2), which glibc has no function
// for, needs no permission.
void ask_to_run_at_once() {
  const sched_param least{sched_get_priority_min(SCHED_FIFO)};
  if (sched_setscheduler(0, SCHED_FIFO, &least) == 0) return;
  struct {
    uint32_t size = 48, policy = 0;
    uint64_t flags = 0;
    int32_t nice = 0;
    uint32_t priority = 0;
    uint64_t runtime = kSlice, deadline = 0, period = 0;
  } attributes;
  attributes.nice = std::min(getpriority(PRIO_PROCESS, 0), 0);
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

// Whether the kernel may have written to this address since the sample, for the thread.
bool is_of_call(const PerfSample& sample, uint64_t avma) {
  return sample.in_kernel && std::ranges::any_of(unwind::kCallArguments, [&](uint8_t argument) {
           return avma - sample.registers.value[argument] < kWrittenByKernel;
         });
}

// Whether a copy of memory from `sp` on is the stack of the sample still.
bool is_stack_of(const PerfSample& sample, uint64_t sp, std::span<const std::byte> now) {
  const std::span<const std::byte> then = sample.stack;
  if (now.size() < then.size()) return false;
  for (size_t i = 0; i < then.size(); ++i) {
    i += static_cast<size_t>(std::mismatch(then.begin() + i, then.end(), now.begin() + i).first -
                             (then.begin() + i));
    if (i < then.size() && !is_of_call(sample, sp + i)) return false;
  }
  return true;
}

bool bind_to(int cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (cpu >= CPU_SETSIZE) return false;
  CPU_SET(cpu, &cpus);
  return sched_setaffinity(0, sizeof cpus, &cpus) == 0;
}

}  // namespace

struct SampleCapture::Shared {
  std::mutex mutex;
  std::unordered_map<pid_t, std::shared_ptr<const PythonInterpreter>> interpreters;
  std::atomic<uint64_t> changes = 0;  // of `interpreters`
  std::atomic<uint64_t> lost = 0;     // times that texts were lost
};

// One CPU.
class SampleCapture::Worker {
 public:
  // `with_value`: as for decode_perf_sample().
  Worker(const PerfEvents::Ring& ring, bool with_value, Shared& shared, int ready)
      : ring_(ring.ring),
        ring_fd_(ring.fd),
        cpu_(ring.cpu),
        with_value_(with_value),
        shared_(shared),
        ready_(ready),
        stop_(eventfd(0, EFD_CLOEXEC)),
        cursor_(ring.ring.position()) {
    if (!stop_) throw Error("capturing Python's frames: eventfd: {}", std::strerror(errno));
    thread_ = std::thread([this] { run(); });
  }
  ~Worker() {
    const uint64_t one = 1;
    (void)!write(stop_.get(), &one, sizeof one);
    thread_.join();
  }

  Claim claim() {
    const std::lock_guard lock(mutex_);
    cursor_ = ring_.head();
    claimed_ = cursor_;
    queued_bytes_ = 0;
    return {cursor_, std::exchange(samples_, {})};
  }

 private:
  // A sample, and whether its thread left the CPU right behind it.
  struct Candidate {
    uint64_t position = 0;
    PerfIdentity identity{};
    bool is_off = false;
    bool waits = false;  // it has left the CPU by itself
  };

  void run();
  void look();
  std::optional<Candidate> newest(uint64_t limit);
  void capture(const Candidate& candidate, uint64_t limit);
  bool copy_stack(const PerfSample& sample, pid_t pid);
  void follow_interpreters();

  const PerfRing& ring_;
  const int ring_fd_, cpu_;
  const bool with_value_;
  Shared& shared_;
  const int ready_;
  FileDescriptor stop_;

  std::mutex mutex_;  // the ring from the cursor on is read, and what follows is used, under it
  uint64_t cursor_;
  uint64_t claimed_ = 0;
  std::deque<CapturedSample> samples_;
  size_t queued_bytes_ = 0;

  // For the thread alone.
  uint64_t changes_ = 0, lost_ = 0;
  std::unordered_map<pid_t, PythonCapture> pythons_;
  std::vector<uint8_t> wrapped_;
  std::vector<std::byte> stack_;
  CapturedPython captured_;
  std::thread thread_;  // the last: it uses the others
};

void SampleCapture::Worker::run() {
  if (!bind_to(cpu_)) return;  // on another CPU it would always be too late
  ask_to_run_at_once();
  pollfd fds[] = {{ring_fd_, POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  while (true) {
    if (poll(fds, 2, -1) < 0 && errno != EINTR) return;
    if (fds[1].revents != 0) return;
    look();
  }
}

void SampleCapture::Worker::look() {
  const std::lock_guard lock(mutex_);
  const uint64_t limit = ring_.head();
  const std::optional<Candidate> candidate = newest(limit);
  if (candidate) capture(*candidate, limit);
  cursor_ = limit;
  if (limit - claimed_ < kFull) return;
  claimed_ = limit;
  const uint64_t one = 1;
  (void)!write(ready_, &one, sizeof one);
}

// The last sample, if its thread has not come back to this CPU.
std::optional<SampleCapture::Worker::Candidate> SampleCapture::Worker::newest(uint64_t limit) {
  std::optional<Candidate> last;
  for (uint64_t at = cursor_; at != limit;) {
    const PerfBytes record = ring_.at(at, limit, wrapped_);
    const auto identity = identify(record);
    if (!identity) return std::nullopt;
    if (identity->type == PERF_RECORD_SAMPLE) {
      last = Candidate{at, *identity};
    } else if (last && identity->tid == last->identity.tid) {
      const auto change = decode_perf_switch(record);
      last->waits = change == PerfSwitch::kWaits;
      last->is_off = (last->waits || change == PerfSwitch::kPreempted) &&
                     identity->time_ns - last->identity.time_ns <= kAtOnce;
      if (!last->is_off) last.reset();
    }
    at += record.size();
  }
  return last && last->is_off ? last : std::nullopt;
}

void SampleCapture::Worker::capture(const Candidate& candidate, uint64_t limit) {
  follow_interpreters();
  const auto python = pythons_.find(candidate.identity.pid);
  if (python == pythons_.end()) return;
  const PerfBytes record = ring_.at(candidate.position, limit, wrapped_);
  const auto sample = decode_perf_sample(record, with_value_);
  if (!sample || !sample->user || !copy_stack(*sample, candidate.identity.pid)) return;
  if (candidate.waits && !sample->in_kernel) return;
  const auto low = Avma::at(sample->registers.value[unwind::kSp] - kRedZone);
  python->second.capture(candidate.identity.tid, low, stack_, captured_);
  if (queued_bytes_ > kMostQueued) return python->second.forget_texts();
  queued_bytes_ += stack_.size() + captured_.memory.size();
  samples_.push_back({candidate.position, candidate.identity.tid, candidate.identity.time_ns,
                      monotonic_ns(), stack_, captured_});
}

// False: the stack in memory is not that of the sample.
bool SampleCapture::Worker::copy_stack(const PerfSample& sample, pid_t pid) {
  stack_.resize(kRedZone + (sample.larger ? kLargestStack : sample.stack.size()));
  const uint64_t sp = sample.registers.value[unwind::kSp];
  stack_.resize(read_stack(pid, Avma::at(sp), stack_));
  return stack_.size() >= kRedZone && is_stack_of(sample, sp, std::span(stack_).subspan(kRedZone));
}

void SampleCapture::Worker::follow_interpreters() {
  if (const uint64_t lost = shared_.lost; std::exchange(lost_, lost) != lost) {
    for (auto& [pid, python] : pythons_) python.forget_texts();
  }
  const uint64_t changes = shared_.changes;
  if (std::exchange(changes_, changes) == changes) return;
  const std::lock_guard lock(shared_.mutex);
  pythons_.clear();
  for (const auto& [pid, interpreter] : shared_.interpreters) {
    pythons_.try_emplace(pid, pid, interpreter);
  }
}

SampleCapture::SampleCapture(PerfEvents& events)
    : ready_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), shared_(std::make_unique<Shared>()) {
  if (!ready_) throw Error("capturing Python's frames: eventfd: {}", std::strerror(errno));
  for (const PerfEvents::Ring& ring : events.rings()) {
    workers_.push_back(
        std::make_unique<Worker>(ring, events.samples_clock(), *shared_, ready_.get()));
  }
}

SampleCapture::~SampleCapture() = default;

void SampleCapture::set_python(pid_t pid, std::shared_ptr<const PythonInterpreter> interpreter) {
  const std::lock_guard lock(shared_->mutex);
  if (interpreter != nullptr) {
    shared_->interpreters[pid] = std::move(interpreter);
  } else {
    shared_->interpreters.erase(pid);
  }
  ++shared_->changes;
}

SampleCapture::Claim SampleCapture::claim(size_t ring) {
  uint64_t count = 0;
  (void)!read(ready_.get(), &count, sizeof count);
  return workers_[ring]->claim();
}

void SampleCapture::forget_texts() {
  ++shared_->lost;
}

Arrivals::Arrivals(const std::vector<PerfEvents::Ring>& rings) {
  std::vector<uint8_t> wrapped;
  for (const auto& [ring, fd, cpu] : rings) {
    const uint64_t limit = ring.head();
    is_unsure_ |= limit - ring.position() + kRecordRoom > ring.size();
    for (uint64_t at = ring.position(); at != limit;) {
      const PerfBytes record = ring.at(at, limit, wrapped);
      const auto identity = identify(record);
      if (!identity || identity->type == PERF_RECORD_LOST) is_unsure_ = true;
      if (!identity) break;
      if (decode_perf_switch(record) == PerfSwitch::kIn) {
        times_[identity->tid].push_back(identity->time_ns);
      }
      at += record.size();
    }
  }
}

bool Arrivals::ran_again(const CapturedSample& sample) const {
  if (is_unsure_) return true;
  const auto found = times_.find(sample.tid);
  return found != times_.end() && std::ranges::any_of(found->second, [&](MonotonicNs time_ns) {
           return time_ns > sample.time_ns && time_ns <= sample.end_ns;
         });
}

}  // namespace sampan::sampler
