#include "sampler/record.h"

#include <sys/sysinfo.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "sampler/engines.h"
#include "sampler/process/kernel_limits.h"
#include "sampler/rings/shim_source.h"
#include "sampler/waits/wait_sampler.h"

namespace sampan::sampler {
namespace {

struct ObserverEntry {
  std::string_view clock;
  std::unique_ptr<Observer> (*make)();
};

// The observers that look at the processes beside the source, by the clock (--clock).
constexpr ObserverEntry kObservers[] = {
    {"wall", []() -> std::unique_ptr<Observer> { return std::make_unique<WaitObserver>(); }}};

std::unique_ptr<RecordingSession> new_session(EventLoop& loop, const RecordOptions& options) {
  std::unique_ptr<Observer> observer;
  for (const ObserverEntry& entry : kObservers) {
    if (entry.clock == options.description.clock) observer = entry.make();
  }
  return std::make_unique<RecordingSession>(loop, options, std::move(observer));
}

std::unique_ptr<Engine> permitted_engine(RecordingSession& session, bool follow, pid_t pid) {
  for (const EngineEntry& entry : engines()) {
    try {
      std::unique_ptr<Engine> engine =
          entry.make(session, AttachedProcesses(session, false), follow);
      engine->attach(pid);
      return engine;
    } catch (const Refused&) {
      continue;
    }
  }
  return nullptr;
}

// What the kernel knows from the machine's time service; none if no service keeps its clock.
std::optional<uint64_t> clock_error_ns() {
  timex clock{};
  const int state = adjtimex(&clock);
  if (state < 0 || state == TIME_ERROR || (clock.status & STA_UNSYNC) != 0) return {};
  return static_cast<uint64_t>(clock.maxerror) * 1000;
}

}  // namespace

recording::Session describe_session(const std::vector<std::string>& command,
                                    const std::string& name, uint32_t rate_hz,
                                    const std::string& version) {
  utsname machine{};
  uname(&machine);
  recording::Session session;
  session.command = command;
  const std::string& file = command.front();
  session.program = !name.empty() ? name : file.substr(file.rfind('/') + 1);
  session.host = machine.nodename;
  session.kernel = machine.release;
  session.sampan_version = version;
  session.start_unix_ns = unix_now_ns();
  session.clock_error_ns = clock_error_ns();
  session.start_monotonic_ns = monotonic_ns();
  session.rate_hz = rate_hz;
  session.kernel_hz = static_cast<uint32_t>(tick_rate_hz());
  session.cpus = static_cast<uint32_t>(get_nprocs());
  return session;
}

std::string random_socket_name() {
  return SessionSocket::random_name();
}

std::unique_ptr<RecordingSession> record_with_shim(EventLoop& loop, const RecordOptions& options,
                                                   const ShimOptions& shim) {
  std::unique_ptr<RecordingSession> session = new_session(loop, options);
  RecordingSession& its = *session;
  session->start(std::make_unique<ShimSource>(
      its, ShimSource::Options{shim.socket, options.follow, shim.sections_only, shim.python,
                               [&its, follow = options.follow](pid_t pid) {
                                 return permitted_engine(its, follow, pid);
                               },
                               shim.ends_with_namespace, shim.clock, shim.watched}));
  return session;
}

std::vector<std::string> engine_names() {
  std::vector<std::string> names;
  for (const EngineEntry& engine : engines()) names.emplace_back(engine.name);
  return names;
}

std::unique_ptr<RecordingSession> record_from_outside(EventLoop& loop, pid_t pid,
                                                      const RecordOptions& options,
                                                      std::string_view wanted, bool awaits_exec) {
  std::string refusals;
  for (const EngineEntry& entry : engines()) {
    if (wanted != "auto" && wanted != entry.name) continue;
    RecordOptions ours = options;
    ours.description.engine = entry.name;
    ours.description.start_monotonic_ns = monotonic_ns();
    try {
      std::unique_ptr<RecordingSession> session = new_session(loop, ours);
      session->set_root(pid);
      AttachedProcesses targets(*session, awaits_exec);
      std::unique_ptr<Engine> engine = entry.make(*session, targets, options.follow);
      engine->attach(pid);
      targets.process(pid);  // an engine may wait for its first sample
      session->start(std::move(engine));
      return session;
    } catch (const Refused& refused) {
      const std::string why = "\n  " + entry.why_refused(pid, refused.error_number);
      if (refusals.find(why) == refusals.npos) refusals += why;  // one rule keeps out several
    }
    unlink(options.path.c_str());
  }
  throw NotPermitted("process {} cannot be sampled:{}", pid, refusals);
}

}  // namespace sampan::sampler
