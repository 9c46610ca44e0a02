#include "sampler/perf/perf_engine.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <queue>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "base/clock.h"
#include "base/processor.h"
#include "base/units.h"
#include "sampler/process/kernel_limits.h"
#include "sampler/process/proc_task.h"
#include "sampler/recorder/interrupt_cost.h"

namespace sampan::sampler {
namespace {

// New threads may come faster than we scan; soon they inherit their events.
constexpr int kMostScans = 16;
// A thread runs on for microseconds after its EXIT record.
constexpr uint64_t kLastSteps = 2'000'000;
// We may have to wait for a CPU, on a busy machine or one whose hypervisor is busy.
constexpr uint64_t kUnread = 500 * kNsPerMs;
constexpr uint32_t kMeasuredRate = 10'000;
constexpr uint64_t kMeasuredTime = 3'000'000;

}  // namespace

uint64_t measure_sample() {
  PerfEvents events({kMeasuredRate, false, kMeasuredTime});
  if (events.open(static_cast<pid_t>(syscall(SYS_gettid))) != 0) return 0;
  const std::vector<uint64_t> found = gaps(kMeasuredTime);
  size_t samples = 0;
  for (PerfEvents::Ring& ring : events.rings()) {
    const uint64_t limit = ring.ring.head();
    for (; !ring.ring.peek(limit).empty(); ring.ring.pop()) ++samples;
  }
  return median_of_longest(found, samples);
}

PerfEngine::PerfEngine(RecordingSession& session, AttachedProcesses targets, bool follow)
    : loop_(session.loop()),
      reads_python_(session.python()),
      targets_(targets),
      rate_hz_(session.rate_hz()),
      follow_(follow),
      sample_ns_(measure_sample()),
      events_({rate_hz_, follow, kUnread}),
      tick_ns_(kNsPerSecond / static_cast<uint64_t>(tick_rate_hz())) {
  for (const PerfEvents::Ring& ring : events_.rings()) {
    loop_.watch(ring.fd, [this] { drain(); });
  }
}

PerfEngine::~PerfEngine() {
  for (const PerfEvents::Ring& ring : events_.rings()) loop_.forget(ring.fd);
  if (capture_) loop_.forget(capture_->fd());
}

// The process may have ended, with all of its threads: then the recording has its end.
void PerfEngine::attach(pid_t pid) {
  const auto python = reads_python_ ? find_python(pid) : std::nullopt;
  const bool is_python = python && python->is_known;
  if (is_python) events_.wake_at_samples();
  for (int scan = 0; scan < kMostScans && open_new_threads(pid); ++scan) drain();
  if (is_python) begin_captures();
}

void PerfEngine::begin_captures() {
  capture_ = std::make_unique<SampleCapture>(events_);
  captured_.resize(events_.rings().size());
  // A thread that polls a ring takes the event from everybody else who polls it.
  for (const PerfEvents::Ring& ring : events_.rings()) loop_.forget(ring.fd);
  loop_.watch(capture_->fd(), [this] { drain(); });
  for (auto& [pid, process] : processes_) follow_python(pid, process);
}

// Opens threads that no record has announced. (A thread whose maker was opened before has inherited
// its events, and the rings say so.) Returns whether there were any.
bool PerfEngine::open_new_threads(pid_t pid) {
  Process& process = processes_[pid];
  bool any = false;
  for (const pid_t tid : thread_ids(pid)) {
    if (process.threads.contains(tid)) continue;
    const int error = events_.open(tid);
    if (error == ESRCH) continue;
    const bool exhausted = error == EMFILE || error == ENFILE || error == ENOMEM;
    if (error != 0 && !(exhausted && !process.threads.empty())) {
      throw Refused(error, "perf_event_open of thread {}: {}", tid, std::strerror(error));
    }
    AttachedProcess& target = targets_.process(pid);
    if (error != 0) target.count_loss(wire::Loss::kThreadNotAttached);
    Clock& clock = process.threads[tid];
    const std::optional<RunTimes> times = run_times(pid, tid);
    clock.start_ns = clock.now_ns = times ? times->cpu_ns : CpuNs();
    clock.readable = true;
    target.thread_began(tid, monotonic_ns(), clock.cpu_ns());
    any = true;
  }
  return any;
}

// For threads that have inherited their events and live longer than from one read to the next. What
// shorter ones used in all is known of their process only.
void PerfEngine::open_clocks(pid_t pid, Process& process) {
  for (const pid_t tid : process.announced) {
    const auto found = process.threads.find(tid);
    if (found == process.threads.end() || found->second.end_ns != 0) continue;
    Clock& clock = found->second;
    const std::optional<RunTimes> times = run_times(pid, tid);
    if (!times || events_.open_clock(tid) != 0) continue;
    clock.readable = true;
    clock.start_ns = times->cpu_ns + clock.stolen_ns;
  }
  process.announced.clear();
}

// Threads may make others meanwhile, which inherit the new events if their maker has them. Returns
// whether there was a thread without.
bool PerfEngine::prepare_threads() {
  bool any = false;
  for (const auto& [pid, process] : processes_) {
    const std::vector<pid_t> tids = thread_ids(pid);
    drain();
    for (const pid_t tid : tids) {
      if (prepared_.contains(tid)) continue;
      const int error = events_.prepare(tid);
      if (error != 0 && error != ESRCH) {
        throw Error("the rate stays {} Hz: opening perf events anew, of thread {}: {}", rate_hz_,
                    tid, std::strerror(error));
      }
      prepared_[tid] = monotonic_ns();
      any = true;
    }
  }
  return any;
}

void PerfEngine::set_rate(uint32_t rate_hz) {
  if (rate_hz != rate_hz_) change_events(rate_hz, events_.options().wakes_at_samples);
}

void PerfEngine::change_events(uint32_t rate_hz, bool wakes_at_samples) {
  events_.begin_change(rate_hz, wakes_at_samples);
  prepared_.clear();
  try {
    for (int scan = 0; scan < kMostScans && prepare_threads(); ++scan) continue;
  } catch (const Error&) {
    events_.give_up();
    throw;
  }
  rate_hz_ = rate_hz;
  events_.stop();
  drain();
  events_.start();
  begin_clocks_anew(monotonic_ns());
  prepared_.clear();
}

// The new events count from zero. What a thread has used since its last sample counts for the next
// one. Threads may have ended while no event counted.
void PerfEngine::begin_clocks_anew(MonotonicNs now_ns) {
  for (auto& [pid, process] : processes_) {
    const std::vector<pid_t> tids = thread_ids(pid);
    const std::unordered_set<pid_t> alive(tids.begin(), tids.end());
    for (auto& [tid, clock] : process.threads) {
      clock.values.clear();
      const std::optional<uint64_t> used_ns = clock.readable ? events_.clock_ns(tid) : std::nullopt;
      if (used_ns) clock.now_ns = std::max(clock.now_ns, clock.start_ns + *used_ns);
      if (clock.end_ns != 0 || alive.contains(tid)) continue;
      clock.end_ns = now_ns;
      process.ended.push_back(tid);
    }
  }
}

uint64_t PerfEngine::cost_ns() const {
  return samples_ * sample_ns_;
}

void PerfEngine::read(MonotonicNs now_ns) {
  stolen_.look(now_ns);
  drain();
  for (auto& [pid, process] : processes_) {
    open_clocks(pid, process);
    settle_ends(pid, process, now_ns - kLastSteps);
    follow_python(pid, process);
  }
  std::erase_if(processes_, [this](const auto& entry) {
    if (!entry.second.threads.empty()) return false;
    if (capture_) capture_->set_python(entry.first, nullptr);
    return true;
  });
  if (std::exchange(wants_captures_, false)) capture_from_now_on();
}

// Python was met after the events were opened.
void PerfEngine::capture_from_now_on() {
  try {
    change_events(rate_hz_, true);
    begin_captures();
  } catch (const Error&) {
    may_capture_ = false;
  }
}

void PerfEngine::drain() {
  std::vector<PerfEvents::Ring>& rings = events_.rings();
  struct Next {
    MonotonicNs time_ns;
    size_t cpu;
    bool operator<(const Next& other) const {
      return std::tie(time_ns, cpu) > std::tie(other.time_ns, other.cpu);
    }
  };
  const std::vector<uint64_t> limits = claim_rings();
  std::priority_queue<Next> next;  // the earliest on top
  const auto look = [&](size_t cpu) {
    while (true) {
      const PerfBytes record = rings[cpu].ring.peek(limits[cpu]);
      if (record.empty()) return;
      if (const auto identity = identify(record)) return next.push({identity->time_ns, cpu});
      ++unreadable_;
      rings[cpu].ring.pop();
    }
  };
  for (size_t cpu = 0; cpu < rings.size(); ++cpu) look(cpu);
  while (!next.empty()) {
    const size_t cpu = next.top().cpu;
    next.pop();
    const PerfBytes record = rings[cpu].ring.peek(limits[cpu]);
    take(cpu, *identify(record), record);
    rings[cpu].ring.pop();
    look(cpu);
  }
  for (PerfEvents::Ring& ring : rings) unreadable_ += ring.ring.take_corrupt();
  if (unreadable_ != 0) count_lost(0, wire::Loss::kRingCorrupt, std::exchange(unreadable_, 0));
}

// Takes what was captured so far of each ring, without that of threads that have run meanwhile. Returns up
// to where the rings may be read and given back.
std::vector<uint64_t> PerfEngine::claim_rings() {
  std::vector<uint64_t> limits;
  if (!capture_) {
    for (const PerfEvents::Ring& ring : events_.rings()) limits.push_back(ring.ring.head());
    return limits;
  }
  for (size_t cpu = 0; cpu < captured_.size(); ++cpu) {
    SampleCapture::Claim claim = capture_->claim(cpu);
    limits.push_back(claim.limit);
    captured_[cpu] = std::move(claim.samples);
  }
  const Arrivals arrivals(events_.rings());
  size_t dropped = 0;
  for (auto& samples : captured_) {
    dropped +=
        std::erase_if(samples, [&](const auto& sample) { return arrivals.ran_again(sample); });
  }
  if (dropped != 0) capture_->forget_texts();
  return limits;
}

// The capture that belongs to this sample; null: there is none.
CapturedSample* PerfEngine::captured(size_t cpu, uint64_t position) {
  if (!capture_) return nullptr;
  auto& samples = captured_[cpu];
  while (!samples.empty() && samples.front().position < position) samples.pop_front();
  return !samples.empty() && samples.front().position == position ? &samples.front() : nullptr;
}

void PerfEngine::take(size_t cpu, const PerfIdentity& identity, PerfBytes record) {
  if (identity.type == PERF_RECORD_FORK) {
    if (const auto task = decode_perf_task(record)) take_fork(identity, *task);
    return;
  }
  if (identity.type == PERF_RECORD_LOST) {
    return count_lost(identity.pid, wire::Loss::kEngineRingFull,
                      decode_perf_lost(record).value_or(1));
  }
  if (!processes_.contains(identity.pid)) return;
  switch (identity.type) {
    case PERF_RECORD_SAMPLE: return take_sample(cpu, identity, record);
    case PERF_RECORD_COMM:
      if (const auto comm = decode_perf_comm(record)) take_comm(identity, *comm);
      return;
    case PERF_RECORD_MMAP: return targets_.process(identity.pid).refresh_modules(identity.time_ns);
    case PERF_RECORD_EXIT: return take_exit(identity);
    default: return;
  }
}

void PerfEngine::take_sample(size_t cpu, const PerfIdentity& identity, PerfBytes record) {
  const auto sample = decode_perf_sample(record, events_.samples_clock());
  if (!sample) {
    ++unreadable_;
    return;
  }
  ++samples_;
  const CpuNs cpu_ns = cpu_clock(cpu, identity, sample->value);
  if (!sample->user) return;
  Process& process = processes_.at(identity.pid);
  Clock& clock = process.threads.at(identity.tid);
  CapturedSample* const captured = this->captured(cpu, events_.rings()[cpu].ring.position());
  if (captured != nullptr) {
    clock.runs_python = !captured->python.states.empty();
    python_samples_ += clock.runs_python;
    return add_captured(identity, cpu_ns, *sample, *captured);
  }
  const bool is_late = process.python != nullptr && clock.runs_python;
  python_samples_ += is_late;
  late_samples_ += is_late;
  const auto sp = Avma::at(sample->registers.value[unwind::kSp]);
  if (sample->larger) {
    memory_.use_part(identity.tid, sp, sample->stack);
  } else {
    memory_.use_copy(sp, sample->stack);
  }
  targets_.process(identity.pid)
      .add_sample({identity.tid, identity.time_ns, cpu_ns, sample->registers, nullptr, is_late},
                  memory_);
}

void PerfEngine::add_captured(const PerfIdentity& identity, CpuNs cpu_ns, const PerfSample& sample,
                              CapturedSample& captured) {
  const auto low = Avma::at(sample.registers.value[unwind::kSp] - kRedZone);
  memory_.use_copy(low, captured.stack);
  captured.python.memory.use_stack(low, captured.stack);
  targets_.process(identity.pid)
      .add_sample({identity.tid, identity.time_ns, cpu_ns, sample.registers, &captured.python},
                  memory_);
}

// The CPU clock of a sample's thread; 0: a period more than at its last sample.
CpuNs PerfEngine::cpu_clock(size_t cpu, const PerfIdentity& identity, uint64_t value) {
  Clock& clock = clock_of(processes_.at(identity.pid), identity);
  if (events_.samples_clock()) {
    advance(clock, cpu, value);
    if (stolen_.any()) take_stolen(clock, identity);
    return clock.cpu_ns();
  }
  if (events_.samples_kernel()) return 0;
  // The period counts user code only. The kernel's account, a moment later, has the rest.
  const std::optional<RunTimes> times = run_times(identity.pid, identity.tid);
  return times ? times->cpu_ns : CpuNs();
}

// It is not known whose records were lost. `pid` is the process that ran when there was room again;
// if it is not one of ours, they are counted for our first one.
void PerfEngine::count_lost(pid_t pid, wire::Loss loss, uint64_t records) {
  if (processes_.empty()) return;
  if (!processes_.contains(pid)) pid = processes_.begin()->first;
  targets_.process(pid).count_loss(loss, records);
}

void PerfEngine::take_fork(const PerfIdentity& identity, const PerfTask& task) {
  const bool new_process = task.pid != task.parent_pid;
  if (new_process && !(follow_ && processes_.contains(task.parent_pid))) return;
  if (!new_process && !processes_.contains(task.pid)) return;
  Process& process = processes_[task.pid];
  const auto maker = prepared_.find(task.parent_tid);
  if (maker != prepared_.end() && identity.time_ns >= maker->second) {
    prepared_[task.tid] = identity.time_ns;
  }
  settle_ends(task.pid, process, identity.time_ns);  // of an earlier thread with this tid
  process.threads.try_emplace(task.tid);
  process.announced.push_back(task.tid);
  targets_.process(task.pid).thread_began(task.tid, identity.time_ns, CpuNs());
}

void PerfEngine::take_comm(const PerfIdentity& identity, const PerfComm& comm) {
  AttachedProcess& target = targets_.process(identity.pid);
  if (!comm.exec) return target.thread_named(identity.tid, identity.time_ns, comm.name);
  Process& process = processes_.at(identity.pid);
  settle_ends(identity.pid, process, identity.time_ns);
  // One thread is left, and it has the tid of the first now.
  Clock clock;
  for (auto& [tid, other] : process.threads) {
    if (tid != identity.tid && process.threads.size() != 1) continue;
    clock = std::move(other);
    clock.readable &= tid == identity.tid;
  }
  process.threads.clear();
  target.executed(identity.time_ns);
  follow_python(identity.pid, process);
  target.thread_began(identity.tid, identity.time_ns, clock.cpu_ns());
  if (!clock.readable) process.announced.push_back(identity.tid);
  process.threads[identity.tid] = std::move(clock);
}

void PerfEngine::take_exit(const PerfIdentity& identity) {
  Process& process = processes_.at(identity.pid);
  const auto found = process.threads.find(identity.tid);
  if (found == process.threads.end()) return;
  found->second.end_ns = identity.time_ns;
  process.ended.push_back(identity.tid);
}

// For threads that had ended by `time_ns`.
void PerfEngine::settle_ends(pid_t pid, Process& process, MonotonicNs time_ns) {
  std::erase_if(process.ended, [&](pid_t tid) {
    const auto found = process.threads.find(tid);
    if (found == process.threads.end()) return true;
    const Clock& clock = found->second;
    if (clock.end_ns > time_ns) return false;
    const std::optional<uint64_t> used_ns = clock.readable ? events_.clock_ns(tid) : std::nullopt;
    std::optional<CpuNs> cpu_ns;
    if (used_ns) cpu_ns = CpuNs::at(clock.start_ns + *used_ns - clock.stolen_ns);
    targets_.process(pid).thread_ended(tid, clock.end_ns, cpu_ns);
    events_.retire(tid);
    process.threads.erase(found);
    return true;
  });
}

void PerfEngine::advance(Clock& clock, size_t cpu, uint64_t value) {
  clock.values.resize(events_.rings().size());
  uint64_t& last = clock.values[cpu];
  if (value > last) clock.now_ns += value - last;
  last = std::max(last, value);
}

// Reads the kernel's account a moment after the sample: it is as much as then, or more.
void PerfEngine::take_stolen(Clock& clock, const PerfIdentity& identity) {
  const std::optional<RunTimes> times = run_times(identity.pid, identity.tid);
  if (!times) return;
  clock.stolen_ns = std::max(clock.stolen_ns, least_stolen(clock.now_ns, times->cpu_ns, tick_ns_));
}

PerfEngine::Clock& PerfEngine::clock_of(Process& process, const PerfIdentity& identity) {
  const auto [found, is_new] = process.threads.try_emplace(identity.tid);
  if (is_new) {
    // Its FORK record is still to come, or was lost.
    process.announced.push_back(identity.tid);
    targets_.process(identity.pid).thread_began(identity.tid, identity.time_ns, CpuNs());
  }
  return found->second;
}

// Tells of an interpreter that was found, or is gone. The first one makes all events anew.
void PerfEngine::follow_python(pid_t pid, Process& process) {
  PythonReader* const python = targets_.process(pid).python();
  if (python == nullptr) return;
  std::shared_ptr<const PythonInterpreter> now = python->interpreter();
  if (now == process.python) return;
  if (!capture_) {
    wants_captures_ = may_capture_;
    return;
  }
  process.python = now;
  capture_->set_python(pid, std::move(now));
}

std::string PerfEngine::note() const {
  std::string note;
  if (!events_.samples_kernel()) {
    note =
        "The kernel's share of the CPU is not sampled here (perf_event_paranoid): samples of user "
        "code carry it.";
  }
  if (!may_capture_) {
    if (!note.empty()) note += ' ';
    note += "Python's functions are not shown: its events could not be opened once more.";
    if (kHasPtraceEngine) note += " --engine ptrace shows them.";
  }
  if (late_samples_ != 0) {
    if (!note.empty()) note += ' ';
    note += fmt::format(
        "{} of {} samples of Python have native stacks alone: their threads had run on before "
        "Python's frames were read.",
        late_samples_, python_samples_);
    if (kHasPtraceEngine) note += " --engine ptrace reads them in time.";
  }
  return note;
}

}  // namespace sampan::sampler
