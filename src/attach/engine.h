// A way of sampling a process from outside: what it needs is up to the kernel, what it yields is
// the same. perf never stops the target; ptrace stops a thread for microseconds when it has used
// its period of CPU; poll interrupts threads that run at the moment. See docs/attaching.md.
//
// An engine works in the thread and the EventLoop that it was made with. Its destructor detaches:
// the target goes on as if nothing had been. The same must hold when this process is killed at any
// instant.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "attach/attached_process.h"
#include "base/error.h"
#include "sampler/event_loop.h"

namespace sampan::attach {

enum class EngineKind { kPerf, kPtrace, kPoll };
std::string_view engine_name(EngineKind kind);  // "perf", "ptrace", "poll"
std::optional<EngineKind> engine_kind(std::string_view name);

struct EngineOptions {
  uint32_t rate_hz;
  bool follow;  // children too
};

// The processes that are being sampled; an engine tells it what happens to them.
class Targets {
 public:
  virtual ~Targets() = default;
  // The process, new or known.
  virtual AttachedProcess& process(pid_t pid) = 0;
  // It has ended, and how if the engine knows; forgets it.
  virtual void ended(pid_t pid, uint64_t time_ns, const sampler::ExitState& exit) = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual EngineKind kind() const = 0;
  // Samples all threads of `pid`, those that come later, and with `follow` its children. Throws
  // Refused when the kernel does not permit it, Error otherwise. May be called for several, and
  // for a child of ours that waits before its exec (sampler/launch.h).
  virtual void attach(pid_t pid) = 0;
  // Work that is due between events: at least every 50 ms.
  virtual void tick(uint64_t now_ns) = 0;
  // Samples from now on; those that were taken before should have been read (tick). Throws Error,
  // and the rate is as before, when the kernel does not permit it.
  virtual void set_rate(uint32_t rate_hz) = 0;
  // CPU that samples have cost the targets so far, in nanoseconds: an estimate, by their number.
  virtual uint64_t cost_ns() const = 0;
  // What the person should know: "ptrace: samples come at the kernel's tick, 250 Hz at most".
  virtual std::string note() const { return ""; }
};

// The kernel does not permit this engine for this process; the next one may be tried.
class Refused : public Error {
 public:
  template <typename... Args>
  explicit Refused(int error, fmt::format_string<Args...> format, Args&&... args)
      : Error(format, std::forward<Args>(args)...), error_number(error) {}
  const int error_number;
};

std::unique_ptr<Engine> make_perf_engine(sampler::EventLoop& loop, Targets& targets,
                                         const EngineOptions& options);
std::unique_ptr<Engine> make_ptrace_engine(sampler::EventLoop& loop, Targets& targets,
                                           const EngineOptions& options);
std::unique_ptr<Engine> make_poll_engine(sampler::EventLoop& loop, Targets& targets,
                                         const EngineOptions& options);
std::unique_ptr<Engine> make_engine(EngineKind kind, sampler::EventLoop& loop, Targets& targets,
                                    const EngineOptions& options);

}  // namespace sampan::attach
