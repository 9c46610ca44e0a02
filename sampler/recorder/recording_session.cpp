#include "sampler/recorder/recording_session.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "base/units.h"

namespace sampan::sampler {
namespace {

constexpr uint64_t kLongestWait = 50 * kNsPerMs;
constexpr uint64_t kShortestLookPeriod = kNsPerMs;
// The kernel tells how a process ended while it is a zombie, and, since Linux 6.15, when it has
// been reaped; not in the moment between. So we ask again for a while.
constexpr uint64_t kExitTimeout = kNsPerSecond / 4;
// For what the source still has to read of a process that has ended.
constexpr uint64_t kLastRecords = kNsPerSecond / 200;
// So much of a recording is not written yet, at most, if it is to be whole when we are killed: a part of it, because each
// writing costs a block in the file.
constexpr uint64_t kPartUnsaved = 16;
constexpr uint64_t kShortestUnsaved = kNsPerSecond / 20;
constexpr uint64_t kLongestUnsaved = kNsPerSecond;

bool is_readable(int fd) {
  pollfd wait{fd, POLLIN, 0};
  return poll(&wait, 1, 0) == 1;
}

}  // namespace

RecordingSession::RecordingSession(EventLoop& loop, Options options,
                                   std::unique_ptr<Observer> observer)
    : loop_(loop),
      clock_{options.description.start_monotonic_ns},
      writer_(options.path, options.description),
      rates_(writer_, clock_, std::move(options.rate)),
      paused_(options.paused),
      python_(options.python),
      saves_often_(options.saves_often),
      segments_(options.segments),
      observer_(std::move(observer)),
      engine_(std::move(options.description.engine)) {}

void RecordingSession::start(std::unique_ptr<Source> source) {
  source_ = std::move(source);
  if (segments_ != nullptr && source_->watched().any()) writer_.keep_living();
}

RecordingSession::~RecordingSession() {
  source_.reset();
  for (auto& [pid, entry] : processes_) forget(entry);
}

void RecordingSession::step(int longest_ms) {
  const MonotonicNs now_ns = monotonic_ns();
  const MonotonicNs next = next_ns(now_ns);
  if (next != UINT64_MAX) {
    const uint64_t left_ms = (next - std::min(now_ns, next) + kNsPerMs - 1) / kNsPerMs;
    if (longest_ms < 0 || left_ms < static_cast<uint64_t>(longest_ms)) {
      longest_ms = static_cast<int>(left_ms);
    }
  }
  try {
    loop_.wait(longest_ms);
  } catch (const Error& error) {
    fail(error);
  }
  const MonotonicNs then_ns = monotonic_ns();
  if (observer_ && then_ns >= next_look_ns_) {
    look(then_ns);
  } else if (then_ns >= source_->next_read_ns()) {
    read(then_ns);
  }
  if (segments_ != nullptr && segments_->is_due(writer_, clock_.at(then_ns))) end_segment();
}

// UINT64_MAX: nothing is due before an event.
MonotonicNs RecordingSession::next_ns(MonotonicNs now_ns) const {
  if (processes_.empty()) return UINT64_MAX;
  MonotonicNs next = source_->next_read_ns();
  if (next == 0) next = now_ns + kLongestWait;
  return observer_ ? std::min(next, next_look_ns_) : next;
}

void RecordingSession::read(MonotonicNs now_ns) {
  attempt([&] {
    source_->read(now_ns);
    tick_processes(now_ns);
    if (rates_.is_due(now_ns)) observe_cost();
    if (saves_often_ && now_ns >= next_save_ns_) {
      writer_.flush();
      next_save_ns_ = now_ns + std::clamp(now_ns.since(clock_.start_ns) / kPartUnsaved,
                                          kShortestUnsaved, kLongestUnsaved);
    }
    writer_.tick(now_ns);
  });
}

// Twice: what belongs together may come through several lanes of the rings, and then waits for a
// round.
void RecordingSession::read_rest() {
  for (int round = 0; round < 2; ++round) read(monotonic_ns());
}

// The source announces threads and modules, so it is read first.
void RecordingSession::look(MonotonicNs now_ns) {
  read(now_ns);
  attempt([&] { observer_->look(now_ns); });
  // By the clock, not by when this look was over: the rate holds, and looks that were missed are
  // lost.
  next_look_ns_ =
      std::max(next_look_ns_ + std::max(rates_.period_ns(), kShortestLookPeriod), now_ns);
}

void RecordingSession::tick_processes(MonotonicNs now_ns) {
  const bool refreshes = now_ns >= next_refresh_ns_;
  if (refreshes) next_refresh_ns_ = now_ns + kNsPerSecond;
  for (auto next = processes_.begin(); next != processes_.end();) {
    auto& [pid, entry] = *next++;  // ended() takes it away
    if (!entry.pidfd && entry.end_ns == 0) watch_end(pid, entry);
    if (entry.end_ns != 0 && now_ns >= entry.end_ns + kLastRecords) {
      const ExitState exit = exit_state(pid, entry.pidfd.get());
      if (exit.known() || now_ns >= entry.end_ns + kExitTimeout) {
        ended(pid, entry.end_ns, exit);
        continue;
      }
    }
    entry.process->name_code();
    entry.process->tick(now_ns);
    if (refreshes) entry.process->refresh(now_ns);
  }
}

RecordedProcess* RecordingSession::find(pid_t pid) {
  const auto found = processes_.find(pid);
  return found != processes_.end() ? found->second.process.get() : nullptr;
}

bool RecordingSession::follows_root_from_outside() const {
  const auto found = processes_.find(root_);
  return found != processes_.end() && !found->second.process->tells_its_end();
}

RecordedProcess& RecordingSession::add(std::unique_ptr<RecordedProcess> process) {
  const pid_t pid = process->pid();
  Entry& entry = processes_[pid];
  entry.process = std::move(process);
  if (observer_) observer_->began(*entry.process);
  watch_end(pid, entry);
  ++joined_;
  return *entry.process;
}

// Only ESRCH means that the process is gone. After any other failure, such as EMFILE, this is tried
// again.
void RecordingSession::watch_end(pid_t pid, Entry& entry) {
  entry.pidfd = FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!entry.pidfd) {
    if (errno == ESRCH) entry.end_ns = monotonic_ns();
    return;
  }
  loop_.watch(entry.pidfd.get(), [this, pid] {
    Entry& ending = processes_.at(pid);
    loop_.forget(ending.pidfd.get());
    ending.end_ns = monotonic_ns();
    if (ending.process->tells_its_end() || !failure_.empty()) ended(pid, ending.end_ns, {});
  });
}

void RecordingSession::ended(pid_t pid, MonotonicNs time_ns, const ExitState& exit, bool replaced) {
  auto node = processes_.extract(pid);
  if (node.empty()) return;
  Entry& entry = node.mapped();
  forget(entry);
  if (entry.end_ns != 0) time_ns = entry.end_ns;
  last_end_ns_ = std::max(last_end_ns_, time_ns);
  ExitState known = exit;
  if (!known.known() && !replaced && entry.pidfd) known = exit_state(entry.pidfd.get());
  attempt([&] {
    if (observer_) {
      entry.process->drain();
      observer_->ended(pid, time_ns);
    }
    known = entry.process->finish({time_ns, known, replaced});
    ended_cpu_ns_ += entry.process->cpu_ns();
    left_out_ns_ += entry.process->left_out_ns();
    add_new(entry.process->hidden(), &hidden_);
    if (segments_ != nullptr && !replaced) segments_->process_ended(known, clock_.at(time_ns));
  });
  if (source_) source_->process_ended(*entry.process);
  if (pid != root_) return;
  root_ended_ = !replaced;
  root_exit_ = known;
}

void RecordingSession::forget(Entry& entry) {
  if (entry.pidfd) loop_.forget(entry.pidfd.get());
}

void RecordingSession::save(FileDescriptor last) {
  attempt([&] { writer_.flush(); });
  if (last) last_ = std::move(last);
}

void RecordingSession::set_rate(uint32_t rate_hz) {
  const uint32_t before_hz = rates_.rate_hz();
  rates_.ask(rate_hz);
  follow_rate(before_hz);
}

// What was taken at the old rate is weighed by it. Throws Error, and the rate stays `before_hz`,
// when the source cannot follow.
void RecordingSession::follow_rate(uint32_t before_hz) {
  try {
    source_->read(monotonic_ns());
    source_->set_rate(rates_.rate_hz());
  } catch (const Error& error) {
    rates_.stay(before_hz, error.what());
    throw;
  }
  for (auto& [pid, entry] : processes_) entry.process->set_rate(rates_.rate_hz());
  next_look_ns_ = std::min(next_look_ns_, monotonic_ns() + rates_.period_ns());
}

void RecordingSession::observe_cost() {
  uint64_t cpu_ns = ended_cpu_ns_;
  for (auto& [pid, entry] : processes_) {
    entry.process->read_clock();
    cpu_ns += entry.process->cpu_ns();
  }
  const uint32_t before_hz = rates_.rate_hz();
  if (!rates_.observe(cpu_ns, source_->cost_ns())) return;
  try {
    follow_rate(before_hz);
  } catch (const Error&) {
    // The user was told.
  }
}

// What the source holds was sampled before. The look ends the waits that are under way.
void RecordingSession::set_paused(bool paused) {
  const MonotonicNs now_ns = monotonic_ns();
  read(now_ns);
  paused_ = paused;
  attempt([&] {
    for (auto& [pid, entry] : processes_) entry.process->set_paused(paused, now_ns);
    if (observer_ && paused) observer_->look(now_ns);
  });
}

// What was recorded by the old setting says so itself.
void RecordingSession::set_watched(recording::Watched what, uint64_t setting) {
  read(monotonic_ns());
  source_->set_watched(what, setting);
}

std::string RecordingSession::status() const {
  std::string text = rates_.status();
  const WatchOptions watched = source_->watched();
  if (const uint64_t mean = watched.heap_mean.value_or(0); mean != 0) {
    text += fmt::format("; one allocation in {} bytes is recorded", mean);
  }
  if (const uint64_t limit_ns = watched.lock_limit_ns.value_or(0); limit_ns != 0) {
    text += fmt::format("; waits for locks from {} us on are recorded", limit_ns / kNsPerUs);
  }
  return text;
}

void RecordingSession::sync() {
  read_rest();
  attempt([&] {
    observe_cost();
    rates_.write_cost();
    writer_.flush();
  });
  if (!failure_.empty()) throw Error("{}", failure_);
}

std::string RecordingSession::flush() {
  if (segments_ == nullptr) {
    sync();
    return writer_.path();
  }
  std::string segment = writer_.path();
  end_segment();
  if (!failure_.empty()) throw Error("{}", failure_);
  if (!segments_->has_black_box()) return segment;
  return segments_->write_box(clock_.at(monotonic_ns()));
}

void RecordingSession::end_segment() {
  read_rest();
  attempt([&] {
    observe_cost();
    rates_.write_cost();
    const MonotonicNs now_ns = monotonic_ns();
    if (observer_) observer_->end_segment(now_ns);
    for (auto& [pid, entry] : processes_) entry.process->end_segment(now_ns);
    segments_->rotate(writer_, clock_.at(now_ns));
    if (observer_) observer_->look(now_ns);
  });
}

Controlled RecordingSession::controlled() {
  return {[this](pid_t pid) { return contains(pid); },
          [this](bool paused) { set_paused(paused); },
          [this](uint32_t rate_hz) { set_rate(rate_hz); },
          [this](uint64_t mean) { set_watched(recording::Watched::kHeap, mean); },
          [this](uint64_t limit_ns) { set_watched(recording::Watched::kLocks, limit_ns); },
          [this] {
            observe_cost();
            return status();
          },
          [this] { return flush(); },
          [this] {
            sync();
            return writer_.path();
          }};
}

size_t RecordingSession::detach() {
  read(monotonic_ns());
  std::vector<pid_t> dead;
  for (const auto& [pid, entry] : processes_) {
    if (entry.end_ns != 0 || (entry.pidfd && is_readable(entry.pidfd.get()))) dead.push_back(pid);
  }
  for (const pid_t pid : dead) {
    const Entry& entry = processes_.at(pid);
    const bool asks_proc = entry.pidfd && !entry.process->tells_its_end();
    ended(pid, monotonic_ns(), asks_proc ? exit_state(pid, entry.pidfd.get()) : ExitState{});
  }
  attempt([&] {
    observe_cost();
    rates_.write_cost();
  });
  note_ = source_->note();
  sampling_clocks_ = source_->sampling_clocks();
  source_.reset();
  const MonotonicNs now_ns = monotonic_ns();
  const size_t living = processes_.size();
  if (living != 0) last_end_ns_ = now_ns;
  for (auto& each : processes_) {
    const pid_t pid = each.first;
    Entry& entry = each.second;
    forget(entry);
    entry.process->disable();
    attempt([&] {
      entry.process->drain();
      if (observer_) observer_->ended(pid, now_ns);
      entry.process->leave(now_ns);
    });
    add_new(entry.process->hidden(), &hidden_);
  }
  processes_.clear();
  return living;
}

void RecordingSession::finish(recording::SessionEnd end) {
  if (!failure_.empty()) throw Error("{}", failure_);
  end.sampling_clocks = sampling_clocks_;
  writer_.finish(end);
  if (segments_ != nullptr) segments_->finish(writer_, end.time_ns);
  last_.reset();
}

void RecordingSession::fail(const std::exception& error) {
  if (failure_.empty()) failure_ = error.what();
  for (auto& [pid, entry] : processes_) entry.process->disable();
}

std::vector<HiddenFile> RecordingSession::hidden() const {
  std::vector<HiddenFile> files = hidden_;
  add_new(roots_.hidden(), &files);
  add_new(kept_.hidden(), &files);
  for (const auto& [pid, entry] : processes_) add_new(entry.process->hidden(), &files);
  return files;
}

}  // namespace sampan::sampler
