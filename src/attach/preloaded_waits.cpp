#include "attach/preloaded_waits.h"

namespace sampan::attach {

// The modules are looked up a second time, for the walk: the shim announces where they are, not
// what is in them.
struct PreloadedWaits::Process {
  Process(recording::Writer& writer, sampler::TargetProcess& process, uint64_t session_start_ns)
      : target(process),
        modules(process.origin().pid),
        walker(modules),
        waits(writer,
              {process.origin().pid, session_start_ns,
               [&process](pid_t tid) { return process.thread_row(tid); },
               [this](uint64_t now_ns) { modules.refresh(now_ns); }},
              modules, walker, process.stacks()) {}

  void look(uint64_t now_ns) {
    if (target.sampling()) {
      waits.look(now_ns);
    } else if (was_sampling) {
      waits.finish(now_ns);
    }
    was_sampling = target.sampling();
  }

  sampler::TargetProcess& target;
  bool was_sampling = true;
  ProcessModules modules;
  RemoteWalker walker;
  WaitSampler waits;
};

PreloadedWaits::PreloadedWaits(recording::Writer& writer, uint64_t session_start_ns)
    : writer_(writer), session_start_ns_(session_start_ns) {}

PreloadedWaits::~PreloadedWaits() = default;

void PreloadedWaits::began(sampler::TargetProcess& process) {
  processes_[process.origin().pid] = std::make_unique<Process>(writer_, process, session_start_ns_);
}

void PreloadedWaits::look(uint64_t now_ns) {
  for (const auto& [pid, process] : processes_) process->look(now_ns);
}

void PreloadedWaits::end_segment(uint64_t now_ns) {
  for (const auto& [pid, process] : processes_) {
    if (process->was_sampling) process->waits.finish(now_ns);
  }
}

void PreloadedWaits::ended(pid_t pid, uint64_t now_ns) {
  const auto found = processes_.find(pid);
  if (found == processes_.end()) return;
  found->second->waits.finish(now_ns);
  processes_.erase(found);
}

}  // namespace sampan::attach
