#include "sampler/rings/drummer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/clock.h"
#include "base/syscall.h"
#include "base/units.h"
#include "wire/control_block.h"

namespace sampan::sampler {
namespace {

// A beat that is not taken after this time is lost.
constexpr uint64_t kLostAfterNs = 100 * kNsPerMs;
// A thread that was not seen running in so many looks is not followed any more.
constexpr uint32_t kQuietLooks = 16;
// Slots that are searched for threads that are awake, with each beat.
constexpr uint32_t kSlotsPerBeat = 64;
// After so many beats without a running thread, beats are rarer.
constexpr uint64_t kIdleBeats = 64, kLongIdleBeats = 512;
constexpr uint64_t kIdleNs = 4 * kNsPerMs, kLongIdleNs = 20 * kNsPerMs;

// A process's namespace of process ids; empty: unknown.
std::string pid_namespace(const std::string& process) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/" + process + "/ns/pid", error);
}

// By the system call: what the C library has may be another's, as our clocks are read.
void wait_until(MonotonicNs machine_ns) {
  const uint64_t ns = machine_ns + static_cast<uint64_t>(monotonic_ahead_ns.load());
  const timespec time{static_cast<time_t>(ns / kNsPerSecond), static_cast<long>(ns % kNsPerSecond)};
  raw_syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr);
}

}  // namespace

bool Drummer::can_drum(pid_t pid) {
  const std::string ours = pid_namespace("self");
  return !ours.empty() && pid_namespace(std::to_string(pid)) == ours;
}

Drummer::Drummer(uint32_t rate_hz, uint32_t tick_hz)
    : tick_hz_(tick_hz), rate_hz_(rate_hz), random_(std::random_device()()) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Drummer::~Drummer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Drummer::set_rate(uint32_t rate_hz) {
  const std::lock_guard lock(mutex_);
  rate_hz_ = rate_hz;
  changed_.notify_one();
}

void Drummer::add(pid_t pid, std::shared_ptr<SharedMemory> memory) {
  const std::lock_guard lock(mutex_);
  processes_.insert_or_assign(pid, Process{.pid = pid, .memory = std::move(memory)});
  idle_beats_ = 0;
  changed_.notify_one();
}

void Drummer::remove(pid_t pid) {
  const std::lock_guard lock(mutex_);
  processes_.erase(pid);
}

// False when the thread is to end.
bool Drummer::wait_for_work() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopping_ || (rate_hz_ > tick_hz_ && !processes_.empty()); });
  return !stopping_;
}

// Uniform between a half and three halves of the period.
uint64_t Drummer::interval_ns() {
  const uint64_t period = kNsPerSecond / rate_hz_;
  const uint64_t interval =
      period / 2 + std::uniform_int_distribution<uint64_t>(0, period)(random_);
  if (idle_beats_ < kIdleBeats) return interval;
  return std::max(interval, idle_beats_ < kLongIdleBeats ? kIdleNs : kLongIdleNs);
}

void Drummer::run() {
  pthread_setname_np(pthread_self(), "drummer");
  prctl(PR_SET_TIMERSLACK, 1UL);
  MonotonicNs next_ns = monotonic_ns();
  while (wait_for_work()) {
    wait_until(next_ns);
    const std::lock_guard lock(mutex_);
    const MonotonicNs now_ns = monotonic_ns();
    bool any = false;
    ++beats_;
    for (auto& [pid, process] : processes_) any |= beat(process, now_ns);
    idle_beats_ = any ? 0 : idle_beats_ + 1;
    const uint64_t interval = interval_ns();
    // What was missed is not made up for: the weight of a sample is the CPU time since the one before.
    next_ns = std::max(next_ns + interval, now_ns + interval / 2);
  }
}

// Whether one of its threads runs.
bool Drummer::beat(Process& process, MonotonicNs now_ns) {
  const wire::ControlBlock* control = wire::control_block(process.memory->base());
  if (control->drummed.load(std::memory_order_relaxed) == 0 ||
      control->enabled.load(std::memory_order_relaxed) == 0) {
    return false;
  }
  find_awake(process);
  bool any = false;
  std::erase_if(process.followed, [&](uint32_t slot) {
    Seat& seat = process.seats[slot];
    any |= beat(process, slot, now_ns);
    seat.followed = seat.tid != 0 && seat.quiet < kQuietLooks;
    if (!seat.followed) seat.state.reset();
    return !seat.followed;
  });
  return any;
}

// Follows threads that say that they have run, some slots with each beat.
void Drummer::find_awake(Process& process) {
  const wire::ControlBlock* control = wire::control_block(process.memory->base());
  const uint32_t used =
      std::min(control->slots_used.load(std::memory_order_acquire), process.memory->shape().slots);
  if (process.seats.size() < used) process.seats.resize(used);
  for (uint32_t i = 0; i < std::min(used, kSlotsPerBeat); ++i) {
    const uint32_t slot = process.next_slot++ % used;
    Seat& seat = process.seats[slot];
    wire::Drum& drum = wire::thread_slot(process.memory->base(), slot)->drum;
    if (seat.followed || drum.awake.load(std::memory_order_relaxed) == 0) continue;
    drum.awake.store(0, std::memory_order_relaxed);
    seat = {.followed = true};
    process.followed.push_back(slot);
  }
}

// Whether the thread of the slot runs. Then it gets a beat, or is told that it has missed one.
bool Drummer::beat(Process& process, uint32_t slot, MonotonicNs now_ns) {
  Seat& seat = process.seats[slot];
  wire::Drum& drum = wire::thread_slot(process.memory->base(), slot)->drum;
  const pid_t tid = drum.tid.load(std::memory_order_relaxed);
  if (tid != seat.tid) seat = {.tid = tid, .followed = true};
  if (tid == 0) return false;
  // It waits for a CPU, or is about to take the signal.
  if (drum.due.load() != 0 && now_ns < seat.sent_ns + kLostAfterNs) return true;
  if (beats_ % (1 + seat.quiet / 2) != 0) return false;
  if (!runs(process, seat)) {
    ++seat.quiet;
    return false;
  }
  seat.quiet = 0;
  const int signo = drum.signo.load(std::memory_order_relaxed);
  const auto send_it = [&] { return send(process, slot, signo, tid); };
  if (wire::beat(drum, tid, send_it)) {
    seat.sent_ns = now_ns;
  } else if (drum.in_call.load() != 0) {
    drum.missed.fetch_add(1, std::memory_order_relaxed);
  }
  return true;
}

bool Drummer::runs(Process& process, Seat& seat) {
  for (;;) {
    if (!seat.state) {
      const std::string path = fmt::format("/proc/{}/task/{}/{}", process.pid, seat.tid,
                                           process.by_stat ? "stat" : "syscall");
      seat.state = FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    }
    char text[128] = {};
    const ssize_t size = seat.state ? pread(seat.state.get(), text, sizeof text - 1, 0) : -1;
    if (size <= 0 && (errno == EPERM || errno == EACCES) && !process.by_stat) {
      process.by_stat = true;
      seat.state.reset();
      continue;
    }
    if (size <= 0) return false;
    if (!process.by_stat) return std::string_view(text).starts_with("running");
    // "TID (name) R …": the name may hold anything.
    const char* end = std::strrchr(text, ')');
    return end != nullptr && std::strncmp(end, ") R", 3) == 0;
  }
}

bool Drummer::send(Process& process, uint32_t slot, int signo, pid_t tid) {
  siginfo_t info{};
  info.si_signo = signo;
  info.si_code = SI_QUEUE;
  info.si_pid = getpid();
  info.si_uid = getuid();
  info.si_value.sival_ptr = reinterpret_cast<void*>(wire::kBeatCookie | slot);
  if (syscall(SYS_rt_tgsigqueueinfo, process.pid, tid, signo, &info) == 0) return true;
  // It has another user now. Its threads arm other clocks.
  if (errno == EPERM) wire::control_block(process.memory->base())->drummed.store(0);
  return false;
}

}  // namespace sampan::sampler
