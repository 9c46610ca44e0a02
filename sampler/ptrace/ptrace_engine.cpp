#include "sampler/ptrace/ptrace_engine.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "base/units.h"
#include "sampler/process/kernel_limits.h"
#include "sampler/process/memory_map.h"
#include "sampler/process/module_file.h"
#include "sampler/process/proc_task.h"
#include "sampler/process/proc_text.h"
#include "sampler/process/symbol_table.h"

namespace sampan::sampler {
namespace {

// CPU of a thread for one stop: its signal, and two switches. About half of the time that it is
// away (bench/outside.py), which is not all its own.
constexpr uint64_t kStopNs = 20'000;

// At its end, LeakSanitizer (AddressSanitizer includes it) makes a tracer of its own. Where there is
// another one, it ends the process with an error. The runtime is a library, or linked into the program.
bool looks_for_leaks(pid_t pid) {
  const auto environment = read_whole(shared_entries(pid) + "/environ");
  if (environment && environment->find("detect_leaks=0") != std::string::npos) return false;
  const std::vector<MappedRange> map = read_memory_map(pid);
  bool is_program = true, found = false;
  for (const MappedRange& range : map) {
    if (range.inode == 0 || range.offset != 0) continue;
    const std::string_view name = std::string_view(range.path).substr(range.path.rfind('/') + 1);
    const bool is_candidate = is_program || name.find("san") != std::string_view::npos;
    is_program = false;
    if (!is_candidate) continue;
    const SymbolTable symbols(open_module(pid, range, map).bytes, SHT_DYNSYM);
    symbols.for_each([&](const Symbol& symbol) { found |= symbol.name == "__lsan_do_leak_check"; });
  }
  return found;
}

}  // namespace

PtraceEngine::PtraceEngine(RecordingSession& session, AttachedProcesses targets, bool follow,
                           bool timers)
    : loop_(session.loop()),
      reads_python_(session.python()),
      targets_(targets),
      timers_(timers),
      rate_hz_(session.rate_hz()),
      tracer_({kNsPerSecond / rate_hz_, follow, timers}) {
  loop_.watch(tracer_.fd(), [this] { drain(); });
}

PtraceEngine::~PtraceEngine() {
  loop_.forget(tracer_.fd());
}

void PtraceEngine::attach(pid_t pid) {
  if (looks_for_leaks(pid)) throw Refused(EBUSY, "process {} looks for leaks by ptrace", pid);
  // The tracer is to have it at its first stop.
  const auto python = reads_python_ ? find_python(pid) : std::nullopt;
  if (python && python->is_known) {
    tracer_.set_python(pid, std::make_shared<const PythonInterpreter>(*python));
  }
  const int error = tracer_.attach(pid);
  if (error != 0) throw Refused(error, "ptrace of process {}: {}", pid, std::strerror(error));
}

void PtraceEngine::read(MonotonicNs) {
  drain();
}

void PtraceEngine::set_rate(uint32_t rate_hz) {
  rate_hz_ = rate_hz;
  tracer_.set_period(kNsPerSecond / rate_hz);
}

uint64_t PtraceEngine::cost_ns() const {
  return samples_ * kStopNs;
}

std::string PtraceEngine::note() const {
  const int ticks = tick_rate_hz();
  if (timers_ && rate_hz_ > static_cast<uint32_t>(ticks)) {
    return fmt::format("ptrace: samples come at the kernel's tick, {} a second at most.", ticks);
  }
  return "";
}

void PtraceEngine::drain() {
  std::vector<TraceEvent> events = tracer_.take();
  for (TraceEvent& event : events) take(event);
}

void PtraceEngine::take(TraceEvent& event) {
  using Kind = TraceEvent::Kind;
  if (event.kind == Kind::kProcessEnded) {
    interpreters_.erase(event.pid);
    return targets_.ended(event.pid, event.time_ns, event.exit);
  }
  AttachedProcess& process = targets_.process(event.pid);
  if (event.kind != Kind::kExecuted) follow_python(process);
  switch (event.kind) {
    case Kind::kThreadBegan: return process.thread_began(event.tid, event.time_ns, event.cpu_ns);
    case Kind::kThreadEnded: return process.thread_ended(event.tid, event.time_ns, event.cpu_ns);
    case Kind::kSample: return take_sample(process, event);
    case Kind::kExecuted:
      process.executed(event.time_ns);
      interpreters_.erase(event.pid);  // the tracer has forgotten it, too
      follow_python(process);
      return process.thread_began(event.tid, event.time_ns, event.cpu_ns);
    case Kind::kSampleLost: return process.count_loss(wire::Loss::kEngineRingFull);
    case Kind::kThreadLost: return process.count_loss(wire::Loss::kThreadNotAttached);
    case Kind::kProcessEnded: return;
  }
}

void PtraceEngine::take_sample(AttachedProcess& process, TraceEvent& event) {
  ++samples_;
  const Avma low = Avma::at(event.registers.value[unwind::kSp] - kRedZone);
  memory_.use_copy(low, event.stack);
  event.python.memory.use_stack(low, event.stack);
  process.add_sample(
      {event.tid, event.time_ns, event.cpu_ns.value_or(CpuNs()), event.registers, &event.python},
      memory_);
  if (memory_.truncated()) tracer_.copy_more();
}

// Tells the tracer of an interpreter that was found, or is gone.
void PtraceEngine::follow_python(AttachedProcess& process) {
  const PythonReader* const python = process.python();
  if (python == nullptr) return;
  std::shared_ptr<const PythonInterpreter> now = python->interpreter();
  std::shared_ptr<const PythonInterpreter>& told = interpreters_[process.pid()];
  if (now == told) return;
  told = now;
  tracer_.set_python(process.pid(), std::move(now));
}

}  // namespace sampan::sampler
