#include "sampler/rings/shim_source.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/units.h"
#include "sampler/process/kernel_limits.h"
#include "sampler/process/proc_task.h"
#include "sampler/recorder/attached_process.h"

namespace sampan::sampler {
namespace {

constexpr uint64_t kShortestPeriod = kNsPerMs;
// A thread ring holds some hundred samples: so many may gather between two rounds.
constexpr uint64_t kSamplesPerRound = 12;

uint32_t tick_hz() {
  return static_cast<uint32_t>(tick_rate_hz());
}

bool wants_perf(SamplingClock clock) {
  return clock == SamplingClock::kPerf || (clock == SamplingClock::kAuto && perf_clock_permitted());
}

uint64_t usual_period(uint32_t rate_hz) {
  return std::clamp(kSamplesPerRound * kNsPerSecond / rate_hz, 5 * kNsPerMs, 50 * kNsPerMs);
}

}  // namespace

ShimSource::ShimSource(RecordingSession& session, const Options& options)
    : session_(session),
      options_(options),
      socket_(options.socket),
      perf_(wants_perf(options_.clock)),
      period_ns_(usual_period(session.rate_hz())) {
  measure_signals(session.rate_hz());
  listen();
}

ShimSource::~ShimSource() {
  for (const auto& [fd, peer] : guests_) session_.loop().forget(fd);
  session_.loop().forget(socket_.fd());
}

void ShimSource::listen() {
  if (!std::exchange(listening_, true)) {
    session_.loop().watch(socket_.fd(), [this] { accept_all(); });
  }
}

void ShimSource::accept_all() {
  while (std::optional<Peer> peer = socket_.accept()) {
    const int connection = peer->connection.get();
    guests_.emplace(connection, std::move(*peer));
    session_.loop().watch(connection, [this, connection] { greet(connection); });
  }
  if (errno == EMFILE || errno == ENFILE) {
    // The rest waits until a process has ended: else the loop would spin.
    session_.loop().forget(socket_.fd());
    listening_ = false;
  }
}

void ShimSource::greet(int connection) {
  Peer peer = std::move(guests_.at(connection));
  guests_.erase(connection);
  session_.loop().forget(connection);
  const std::optional<wire::Hello> hello = receive_hello(peer);
  if (!hello) return;
  if (hello->ending != 0) return see_off(std::move(peer));
  const bool wanted =
      session_.failure().empty() && (options_.follow || peer.pid == session_.root());
  if (wanted) {
    session_.attempt([&] { take_in(std::move(peer), *hello); });
  } else {
    send_welcome(peer, {.version = wire::kWireVersion}, -1);
  }
}

void ShimSource::take_in(Peer peer, const wire::Hello& hello) {
  const bool is_exec = session_.contains(peer.pid) && hello.forked == 0;
  session_.ended(peer.pid, monotonic_ns(), {}, is_exec);
  ShimProcess::Origin origin{};
  origin.pid = peer.pid;
  origin.parent_pid = hello.parent_pid;
  origin.executable = program_of(peer.pid);
  origin.clock = session_.clock();
  origin.python = options_.python;
  origin.roots = &session_.roots();
  origin.kept = &session_.kept();
  // It waits for our answer, so it is alive.
  origin.root = ProcessRoot::of(peer.pid).value_or(nullptr);
  origin.start_ns = monotonic_ns();
  origin.start_clock_ns = is_exec ? process_cpu_ns(peer.pid).value_or(CpuNs()) : CpuNs();
  origin.switches = {hello.forked != 0 ? hello.paused != 0 : session_.paused(),
                     options_.sections_only};
  SharedMemory memory(hello.slots);
  if (!memory.shape().markers) {
    note_ = fmt::format(
        "The limit on file sizes (ulimit -f) left room for {} threads of a process at once, and "
        "none for markers.",
        memory.shape().slots);
  }
  wire::ControlBlock* control = wire::control_block(memory.base());
  control->enabled.store(1, std::memory_order_relaxed);
  control->rate_hz.store(session_.rate_hz(), std::memory_order_relaxed);
  control->heap_mean.store(options_.watched.heap_mean.value_or(0), std::memory_order_relaxed);
  control->lock_limit_ns.store(options_.watched.lock_limit_ns.value_or(0),
                               std::memory_order_relaxed);
  control->paused.store(origin.switches.paused, std::memory_order_relaxed);
  // The first process of our namespace, or that which somebody waits for.
  const bool may_end_us = peer.pid == 1 || peer.pid == session_.root();
  const bool drummed = is_drummed(peer.pid);
  control->drummed.store(drummed, std::memory_order_relaxed);
  const wire::Welcome welcome{
      .version = wire::kWireVersion,
      .accepted = 1,
      .follow = options_.follow,
      .sections_only = options_.sections_only,
      .python = options_.python,
      .perf = perf_,
      .waits_at_end = options_.ends_with_namespace && may_end_us,
  };
  if (!send_welcome(peer, welcome, memory.fd())) return;  // it did not wait
  memory.close_fd();
  auto process = std::make_unique<ShimProcess>(session_.writer(), origin, std::move(memory));
  if (processes_.empty()) next_read_ns_ = origin.start_ns + period_ns_;
  processes_[peer.pid] = process.get();
  using Clock = recording::SessionEnd;
  clocks_ |= drummed ? Clock::kDrumClock : perf_ ? Clock::kPerfClock : Clock::kTimerClock;
  if (drummed) {
    if (!drummer_) drummer_ = std::make_unique<Drummer>(session_.rate_hz(), tick_hz());
    drummer_->add(peer.pid, process->memory());
  }
  session_.add(std::move(process));
}

// Under a seccomp filter, which may kill for perf_event_open, the shim does not use perf events.
bool ShimSource::is_drummed(pid_t pid) const {
  if (options_.clock == SamplingClock::kPerf || options_.clock == SamplingClock::kTimer)
    return false;
  const std::optional<ProcessStatus> status = process_status(pid);
  return status && (!perf_ || status->seccomp_filter) && Drummer::can_drum(pid);
}

// It has told everything, and waits until its connection is closed.
void ShimSource::see_off(Peer peer) {
  if (!processes_.contains(peer.pid)) return;
  session_.ended(peer.pid, monotonic_ns(), {});
  const bool was_last = peer.pid == 1 || session_.processes() == 0;
  session_.save(was_last ? std::move(peer.connection) : FileDescriptor());
}

void ShimSource::process_ended(const RecordedProcess& process) {
  const auto found = processes_.find(process.pid());
  if (found == processes_.end()) return;
  if (drummer_) drummer_->remove(process.pid());
  ended_cost_ns_ += found->second->cost_ns(*signal_cost_);
  processes_.erase(found);
  listen();
}

void ShimSource::read(MonotonicNs now_ns) {
  ShimProcess::Drained all;
  for (const auto& [pid, process] : processes_) {
    const ShimProcess::Drained drained = process->read_rings();
    all.records += drained.records;
    all.fullest = std::max(all.fullest, drained.fullest);
  }
  if (engine_) engine_->read(now_ns);
  answer_wishes();
  adapt_period(all);
  next_read_ns_ = now_ns + period_ns_;
}

void ShimSource::answer_wishes() {
  using wire::Outside;
  std::vector<std::pair<pid_t, Outside>> wishes;
  for (const auto& [pid, process] : processes_) {
    const Outside wish = process->asks();
    if (wish == Outside::kImage || wish == Outside::kChildren || wish == Outside::kProgram) {
      wishes.emplace_back(pid, wish);
    }
  }
  for (const auto& [pid, wish] : wishes) {
    const std::shared_ptr<SharedMemory> memory = processes_.at(pid)->memory();
    wire::ControlBlock* control = wire::control_block(memory->base());
    bool all = true;
    if (wish == Outside::kChildren) {
      for (const pid_t child : child_processes(pid)) {
        if (!session_.contains(child)) all &= sample_outside(child, false);
      }
    } else {
      const pid_t asked = asked_process(pid, control->asked_pid.load(std::memory_order_relaxed));
      all = asked != 0 && sample_outside(asked, wish == Outside::kImage);
    }
    Outside asked = wish;
    control->outside.compare_exchange_strong(asked, all ? Outside::kAttached : Outside::kRefused);
  }
}

// 0: none. The memory is the target's to write, but it has a say in itself and its children alone. `inner`: a child's number in the
// namespace of both.
pid_t ShimSource::asked_process(pid_t pid, pid_t inner) const {
  if (inner == 0) return pid;
  if (!options_.follow) return 0;
  for (const pid_t child : child_processes(pid)) {
    if (innermost_pid(child) == inner && !session_.contains(child)) return child;
  }
  return 0;
}

// The process is the shim's until an engine is permitted for it.
bool ShimSource::sample_outside(pid_t pid, bool awaits_exec) {
  session_.set_awaits_exec(awaits_exec ? pid : 0);
  bool attached = false;
  try {
    if (engine_) {
      engine_->attach(pid);
      attached = true;
    } else if (options_.engine_for) {
      engine_ = options_.engine_for(pid);
      attached = engine_ != nullptr;
    }
    if (attached) AttachedProcesses(session_, false).process(pid);
  } catch (const Refused&) {
    attached = false;
  }
  session_.set_awaits_exec(0);
  outside_ += attached;
  return attached;
}

std::string ShimSource::note() const {
  if (outside_ == 0) return note_;
  std::string note = note_.empty() ? "" : note_ + " ";
  note += fmt::format(
      "{} without the shim (static, or in another root or network namespace) {} sampled from "
      "outside: sections and "
      "other markers of {} are not known.",
      outside_ == 1 ? "A process" : fmt::format("{} processes", outside_),
      outside_ == 1 ? "was" : "were", outside_ == 1 ? "it" : "them");
  const std::string of_engine = engine_->note();
  return of_engine.empty() ? note : note + " " + of_engine;
}

void ShimSource::adapt_period(const ShimProcess::Drained& drained) {
  const uint64_t usual = usual_period(session_.rate_hz());
  if (drained.fullest > 0.25) {
    period_ns_ = std::max(period_ns_ / 2, kShortestPeriod);
  } else if (drained.fullest < 0.1) {
    // When nothing at all happens, waking up half as often will do.
    const uint64_t longest = drained.records == 0 ? 2 * usual : usual;
    period_ns_ = std::min(period_ns_ + period_ns_ / 4, longest);
  }
}

// What a signal costs, of those that are sent at this rate.
void ShimSource::measure_signals(uint32_t rate_hz) {
  above_tick_ |= rate_hz > tick_hz();
  const bool interrupts = rate_hz > tick_hz() && options_.clock != SamplingClock::kTimer;
  if (signal_cost_ && (!interrupts || signal_cost_->perf_ns != 0 || signal_cost_->beat_ns != 0)) {
    return;
  }
  signal_cost_ = measure_signal_cost(!interrupts ? Interrupts::kOfTimers
                                     : perf_     ? Interrupts::kOfPerf
                                                 : Interrupts::kOfBeats);
}

// The rings fill at the new rate from now on.
void ShimSource::set_rate(uint32_t rate_hz) {
  measure_signals(rate_hz);
  if (drummer_) drummer_->set_rate(rate_hz);
  if (engine_) engine_->set_rate(rate_hz);
  period_ns_ = usual_period(rate_hz);
  next_read_ns_ = std::min(next_read_ns_, monotonic_ns() + period_ns_);
}

void ShimSource::set_watched(recording::Watched what, uint64_t setting) {
  if (!options_.watched.any()) return Source::set_watched(what, setting);
  auto& of_new = what == recording::Watched::kHeap ? options_.watched.heap_mean
                                                   : options_.watched.lock_limit_ns;
  of_new = setting;
  for (const auto& [pid, process] : processes_) process->set_watched(what, setting, monotonic_ns());
}

uint64_t ShimSource::cost_ns() const {
  uint64_t sum = ended_cost_ns_ + (engine_ ? engine_->cost_ns() : 0);
  for (const auto& [pid, process] : processes_) sum += process->cost_ns(*signal_cost_);
  return sum;
}

}  // namespace sampan::sampler
