#include "sampler/collector.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "sampler/program.h"
#include "sampler/session_info.h"

namespace sampan::sampler {
namespace {

constexpr uint64_t kShortestPeriod = kNsPerMs;
constexpr uint64_t kShortestLookPeriod = kNsPerMs;
// A thread ring holds some hundred samples: so many may gather between two rounds.
constexpr uint64_t kSamplesPerRound = 12;

// Above the kernel's tick, as threads have it (preload/clock.h).
bool wants_perf(uint32_t rate_hz) {
  return rate_hz > kernel_hz();
}

uint64_t usual_period(uint32_t rate_hz) {
  return std::clamp(kSamplesPerRound * kNsPerSecond / rate_hz, 5 * kNsPerMs, 50 * kNsPerMs);
}

FileDescriptor open_pidfd(pid_t pid) {
  return FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

bool has_ended(const FileDescriptor& pidfd) {
  pollfd wait{pidfd.get(), POLLIN, 0};
  return poll(&wait, 1, 0) == 1;
}

}  // namespace

Collector::Collector(EventLoop& loop, recording::Writer& writer, const Options& options)
    : loop_(loop),
      writer_(writer),
      options_(options),
      socket_(options.session),
      signal_cost_(measure_signal_cost(wants_perf(options.rate.asked_hz))),
      rates_(writer, options.start_ns, options.rate) {
  follow_rate();
  loop_.watch(socket_.fd(), [this] { accept_all(); });
}

Collector::~Collector() {
  for (const auto& [fd, peer] : guests_) loop_.forget(fd);
  for (const auto& [pid, entry] : processes_) loop_.forget(entry.pidfd.get());
  loop_.forget(socket_.fd());
}

void Collector::step(int idle_ms) {
  uint64_t now = monotonic_ns();
  if (processes_.empty()) {
    loop_.wait(idle_ms);
  } else {
    const uint64_t next =
        options_.onlooker != nullptr ? std::min(next_drain_ns_, next_look_ns_) : next_drain_ns_;
    const uint64_t left = next > now ? next - now : 0;
    loop_.wait(static_cast<int>((left + kNsPerMs - 1) / kNsPerMs));
  }
  now = monotonic_ns();
  if (options_.onlooker != nullptr && now >= next_look_ns_) {
    look(now);
  } else if (now >= next_drain_ns_) {
    drain_all(now);
  }
  if (options_.segments != nullptr && options_.segments->is_due(writer_, session_time(now))) {
    end_segment();
  }
}

void Collector::accept_all() {
  while (std::optional<Peer> peer = socket_.accept()) {
    const int connection = peer->connection.get();
    guests_.emplace(connection, std::move(*peer));
    loop_.watch(connection, [this, connection] { greet(connection); });
  }
  if (errno == EMFILE || errno == ENFILE) {
    // The rest waits until a process has ended: else the loop would spin.
    loop_.forget(socket_.fd());
    listening_ = false;
  }
}

void Collector::greet(int connection) {
  Peer peer = std::move(guests_.at(connection));
  guests_.erase(connection);
  loop_.forget(connection);
  const std::optional<wire::Hello> hello = receive_hello(peer);
  if (!hello) return;
  const bool wanted = failure_.empty() && (options_.follow || peer.pid == root_);
  if (wanted) {
    take_in(std::move(peer), *hello);
  } else {
    send_welcome(peer, {wire::kWireVersion, 0, 0, 0}, -1);
  }
}

void Collector::take_in(Peer peer, const wire::Hello& hello) {
  const bool is_exec = processes_.contains(peer.pid) && hello.forked == 0;
  if (processes_.contains(peer.pid)) process_ended(peer.pid, is_exec);
  guarded([&] {
    Entry entry;
    entry.pidfd = open_pidfd(peer.pid);
    if (!entry.pidfd) throw Error("following process {}: {}", peer.pid, std::strerror(errno));
    TargetProcess::Origin origin{};
    origin.pid = peer.pid;
    origin.parent_pid = hello.parent_pid;
    origin.executable = executable_of(peer.pid);
    origin.session_start_ns = options_.start_ns;
    origin.start_ns = monotonic_ns();
    origin.start_clock_ns = is_exec ? process_cpu_ns(peer.pid).value_or(0) : 0;
    origin.switches = options_.switches;
    if (hello.forked != 0) origin.switches.paused = hello.paused != 0;
    SharedMemory memory;
    wire::ControlBlock* control = wire::control_block(memory.base());
    control->enabled.store(1, std::memory_order_relaxed);
    control->rate_hz.store(rates_.rate_hz(), std::memory_order_relaxed);
    control->paused.store(origin.switches.paused, std::memory_order_relaxed);
    if (!send_welcome(peer,
                      {wire::kWireVersion, 1, options_.follow ? 1u : 0u,
                       options_.switches.sections_only ? 1u : 0u},
                      memory.fd())) {
      return;  // it did not wait
    }
    memory.close_fd();
    entry.process = std::make_unique<TargetProcess>(writer_, origin, std::move(memory));
    loop_.watch(entry.pidfd.get(), [this, pid = peer.pid] { process_ended(pid, false); });
    if (options_.onlooker != nullptr) options_.onlooker->began(*entry.process);
    if (processes_.empty()) next_drain_ns_ = origin.start_ns + period_ns_;
    processes_[peer.pid] = std::move(entry);
    ++joined_;
  });
}

void Collector::process_ended(pid_t pid, bool replaced) {
  const auto found = processes_.find(pid);
  if (found == processes_.end()) return;
  Entry entry = std::move(found->second);
  processes_.erase(found);
  loop_.forget(entry.pidfd.get());
  last_end_ns_ = monotonic_ns();
  guarded([&] {
    TargetProcess::End end{};
    end.time_ns = last_end_ns_;
    end.cpu_clock_ns = process_cpu_ns(pid);
    if (!end.cpu_clock_ns) end.cpu_clock_ns = entry.cpu_clock_ns;
    if (!replaced) end.exit = exit_state(entry.pidfd.get());
    end.replaced = replaced;
    if (options_.onlooker != nullptr) {
      entry.process->drain();
      options_.onlooker->ended(pid, last_end_ns_);
    }
    const ExitState exit = entry.process->finish(end);
    entry.cpu_clock_ns = end.cpu_clock_ns;
    ended_cpu_ns_ += entry.cpu_ns();
    ended_cost_ns_ += entry.process->cost_ns(signal_cost_);
    left_out_ns_ += entry.process->left_out_ns();
    if (pid == root_) root_exit_ = exit;
    if (options_.segments != nullptr && !replaced) {
      options_.segments->process_ended(exit, session_time(last_end_ns_));
    }
  });
  if (!listening_) {
    loop_.watch(socket_.fd(), [this] { accept_all(); });
    listening_ = true;
  }
}

void Collector::drain_all(uint64_t now_ns) {
  guarded([&] {
    TargetProcess::Drained all;
    for (auto& [pid, entry] : processes_) {
      const TargetProcess::Drained drained = entry.process->drain();
      all.records += drained.records;
      all.fullest = std::max(all.fullest, drained.fullest);
    }
    adapt_period(all);
    if (now_ns >= next_slow_ns_) read_slow_counters(now_ns);
    if (rates_.is_due(now_ns)) observe_cost();
    writer_.tick(now_ns);
  });
  next_drain_ns_ = now_ns + period_ns_;
}

// Threads and modules are announced in the rings.
void Collector::look(uint64_t now_ns) {
  drain_all(now_ns);
  guarded([&] { options_.onlooker->look(now_ns); });
  // By the clock, not by when this look was over: rates hold, and looks that were missed are lost.
  next_look_ns_ = std::max(next_look_ns_ + look_period_ns_, now_ns);
}

void Collector::adapt_period(const TargetProcess::Drained& drained) {
  const uint64_t usual = usual_period(rates_.rate_hz());
  if (drained.fullest > 0.25) {
    period_ns_ = std::max(period_ns_ / 2, kShortestPeriod);
  } else if (drained.fullest < 0.1) {
    // Nothing at all happens: waking up half as often will do.
    const uint64_t longest = drained.records == 0 ? 2 * usual : usual;
    period_ns_ = std::min(period_ns_ + period_ns_ / 4, longest);
  }
}

void Collector::read_slow_counters(uint64_t now_ns) {
  next_slow_ns_ = now_ns + kNsPerSecond;
  for (auto& [pid, entry] : processes_) {
    entry.process->write_losses();
  }
}

uint64_t Collector::Entry::cpu_ns() const {
  const uint64_t clock_ns = cpu_clock_ns.value_or(0);
  return clock_ns - std::min(clock_ns, process->origin().start_clock_ns);
}

void Collector::observe_cost() {
  uint64_t cpu_ns = ended_cpu_ns_, cost_ns = ended_cost_ns_;
  for (auto& [pid, entry] : processes_) {
    if (const auto clock = process_cpu_ns(pid)) entry.cpu_clock_ns = clock;
    cpu_ns += entry.cpu_ns();
    cost_ns += entry.process->cost_ns(signal_cost_);
  }
  if (rates_.observe(cpu_ns, cost_ns)) follow_rate();
}

void Collector::set_rate(uint32_t rate_hz) {
  rates_.ask(rate_hz);
  if (wants_perf(rate_hz) && signal_cost_.perf_ns == 0) signal_cost_ = measure_signal_cost(true);
  follow_rate();
}

// Rings fill at the new rate from now on.
void Collector::follow_rate() {
  for (auto& [pid, entry] : processes_) entry.process->set_rate(rates_.rate_hz());
  period_ns_ = usual_period(rates_.rate_hz());
  next_drain_ns_ = std::min(next_drain_ns_, monotonic_ns() + period_ns_);
  look_period_ns_ = std::max(rates_.period_ns(), kShortestLookPeriod);
}

void Collector::set_paused(bool paused) {
  options_.switches.paused = paused;
  const uint64_t now_ns = monotonic_ns();
  for (auto& [pid, entry] : processes_) entry.process->set_paused(paused, now_ns);
}

// Twice: what belongs together may come through several lanes, and then waits for a round.
void Collector::sync() {
  for (int round = 0; round < 2; ++round) drain_all(monotonic_ns());
  guarded([&] {
    observe_cost();
    rates_.write_cost();
    writer_.flush();
  });
  if (!failure_.empty()) throw Error("{}", failure_);
}

std::string Collector::flush() {
  if (options_.segments == nullptr) {
    sync();
    return writer_.path();
  }
  const std::string segment = writer_.path();
  end_segment();
  if (!failure_.empty()) throw Error("{}", failure_);
  if (!options_.segments->has_black_box()) return segment;
  return options_.segments->write_box(session_time(monotonic_ns()));
}

void Collector::end_segment() {
  for (int round = 0; round < 2; ++round) drain_all(monotonic_ns());
  guarded([&] {
    observe_cost();
    rates_.write_cost();
    const uint64_t now_ns = monotonic_ns();
    if (options_.onlooker != nullptr) options_.onlooker->end_segment(now_ns);
    for (auto& [pid, entry] : processes_) entry.process->end_segment(now_ns);
    options_.segments->rotate(writer_, session_time(now_ns));
    if (options_.onlooker != nullptr) options_.onlooker->look(now_ns);
  });
}

uint64_t Collector::session_time(uint64_t monotonic_ns) const {
  return monotonic_ns - std::min(monotonic_ns, options_.start_ns);
}

Controlled Collector::controlled() {
  return {[this](pid_t pid) { return processes_.contains(pid); },
          [this](bool paused) { set_paused(paused); },
          [this](uint32_t rate_hz) { set_rate(rate_hz); },
          [this] {
            observe_cost();
            return rates_.status();
          },
          [this] { return flush(); },
          [this] {
            sync();
            return writer_.path();
          }};
}

size_t Collector::finish() {
  std::vector<pid_t> ended;
  for (const auto& [pid, entry] : processes_) {
    if (has_ended(entry.pidfd)) ended.push_back(pid);
  }
  for (const pid_t pid : ended) process_ended(pid, false);
  const uint64_t now_ns = monotonic_ns();
  guarded([&] {
    observe_cost();
    rates_.write_cost();
    for (auto& [pid, entry] : processes_) {
      entry.process->disable();
      entry.process->leave(now_ns);
      if (options_.onlooker != nullptr) options_.onlooker->ended(pid, now_ns);
    }
  });
  return processes_.size();
}

template <typename F>
void Collector::guarded(F&& write) {
  if (!failure_.empty()) return;
  try {
    write();
  } catch (const std::exception& error) {
    failure_ = error.what();
    for (auto& [pid, entry] : processes_) entry.process->disable();
  }
}

}  // namespace sampan::sampler
